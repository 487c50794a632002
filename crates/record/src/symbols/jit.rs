//! Names of code that was compiled at run time, from the file in which a run-time system lists it.
//!
//! Such a file is `/tmp/perf-PID.map`, as `perf` reads it: each line has the start and the size of
//! a function in hexadecimal, and the name. Python writes it with `-X perf`, node with
//! `--perf-basic-prof`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

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
            // The file grows at its end. A shorter one is another file.
            let from = if size > self.read { self.read } else { 0 };
            let text = lines_from(&self.path, from).unwrap_or_default();
            self.read = from + text.len() as u64;
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

/// The whole lines of a file from an offset on.
fn lines_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let end = text.iter().rposition(|byte| *byte == b'\n');
    text.truncate(end.map_or(0, |end| end + 1));
    Ok(text)
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
