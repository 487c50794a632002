//! Names of code that was compiled at run time, from the file in which a run-time system lists it.
//!
//! Such a file is `/tmp/perf-PID.map`, as `perf` reads it: each line has the start and the size of
//! a function in hexadecimal, and the name. Python writes it with `-X perf`, node with
//! `--perf-basic-prof`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The functions that one process lists.
#[derive(Debug)]
pub(crate) struct JitSymbols {
    path: PathBuf,
    /// The size of the file when it was last read.
    read: u64,
    /// The functions by start: the size and the name.
    functions: BTreeMap<u64, (u64, String)>,
}

impl JitSymbols {
    /// The functions of a process.
    pub(crate) fn of_process(pid: u32) -> Self {
        Self {
            path: PathBuf::from(format!("/tmp/perf-{pid}.map")),
            read: 0,
            functions: BTreeMap::new(),
        }
    }

    /// Returns the name of the function at an address, if the process has listed it so far.
    pub(crate) fn function_at(&mut self, address: u64) -> Option<String> {
        let listed = fs::metadata(&self.path).ok().filter(fs::Metadata::is_file);
        let size = listed.map_or(0, |file| file.len());
        if size != self.read {
            self.read = size;
            let text = fs::read(&self.path).unwrap_or_default();
            self.add(&String::from_utf8_lossy(&text));
        }
        let (start, (bytes, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *bytes).then(|| name.clone())
    }

    /// Adds the functions of a file's text. Lines of another form are ignored.
    fn add(&mut self, text: &str) {
        let hexadecimal =
            |word: Option<&str>| u64::from_str_radix(word?.trim_start_matches("0x"), 16).ok();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let (start, bytes) = (hexadecimal(words.next()), hexadecimal(words.next()));
            if let (Some(start), Some(bytes), Some(name)) = (start, bytes, words.next()) {
                self.functions.insert(start, (bytes, name.to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_function_has_its_name_and_no_other_address_has_one() {
        let mut symbols = JitSymbols::of_process(0);
        symbols.add("7f00 20 py::main:/a b.py\nnonsense\n0x8000 10 other\n7f10 zz bad\n");
        let mut name = |address| symbols.function_at(address);
        assert_eq!(name(0x7f00).as_deref(), Some("py::main:/a b.py"));
        assert_eq!(name(0x7f1f).as_deref(), Some("py::main:/a b.py"));
        assert_eq!(name(0x7f20), None);
        assert_eq!(name(0x800f).as_deref(), Some("other"));
        assert_eq!(name(0x10), None);
    }
}
