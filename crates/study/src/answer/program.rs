//! The recorded program, as far as advice depends on it.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use broadleaf_report::command_line;
use broadleaf_trace::Header;
use memchr::memmem;

/// The most bytes of a program's file that are searched for names of libraries.
const MOST_SEARCHED: u64 = 64 << 20;

/// A recorded program.
#[derive(Clone, Debug, Default)]
pub struct AnsweredProgram {
    /// The command and its arguments; empty if the trace has none.
    pub command: Vec<String>,
    /// The program's file name, without its folder.
    pub name: String,
    /// True if the recording holds run times.
    pub is_measured: bool,
    /// The content of the program's file, if it can be read: names of libraries are searched there.
    file: Vec<u8>,
}

impl AnsweredProgram {
    /// Describes the program that a trace's header names.
    pub fn of(header: Option<&Header>) -> Self {
        let Some(header) = header else {
            return Self::default();
        };
        let path = header.program.as_ref().map(|program| &*program.path);
        let path = path.or_else(|| header.command.first().map(String::as_str));
        let path = Path::new(path.unwrap_or_default());
        Self {
            is_measured: header.measured.is_some(),
            ..Self::new(header.command.clone(), path)
        }
    }

    /// Describes the program with this command, whose file is at `path`.
    pub fn new(command: Vec<String>, path: &Path) -> Self {
        let mut file = Vec::new();
        if path.is_absolute()
            && path.is_file()
            && let Ok(opened) = File::open(path)
        {
            // A file that cannot be read shows nothing.
            let _ = opened.take(MOST_SEARCHED).read_to_end(&mut file);
        }
        let name = path.file_name().map(|name| name.to_string_lossy());
        Self {
            command,
            name: name.map_or(String::new(), |name| name.into_owned()),
            is_measured: false,
            file,
        }
    }

    /// Describes the program of a command, whose file a shell would find.
    pub fn of_command(command: Vec<String>) -> Self {
        let name = Path::new(command.first().map_or("", String::as_str));
        let folders = env::var_os("PATH").unwrap_or_default();
        let mut found = env::split_paths(&folders).map(|folder| folder.join(name));
        // A name with a folder is not searched for.
        let found = match name.components().count() {
            1 => found.find(|path| path.is_file()),
            _ => None,
        };
        let path = found.unwrap_or_else(|| name.to_owned());
        let path = path.canonicalize().unwrap_or(path);
        Self::new(command, &path)
    }

    /// Returns true if the program's file contains a text, such as the name of a library.
    pub fn contains(&self, text: &str) -> bool {
        memmem::find(&self.file, text.as_bytes()).is_some()
    }

    /// Returns true if a runtime manages the memory, so that the source has no calls of madvise.
    pub fn has_managed_heap(&self) -> bool {
        let runtimes = ["java", "python", "perl", "ruby", "node"];
        runtimes.iter().any(|name| self.name.starts_with(name))
    }

    /// Returns the command line of the program after other words. Without a recorded command, the
    /// word COMMAND stands for it.
    pub fn after(&self, words: &[&str]) -> String {
        let mut all: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        if self.command.is_empty() {
            all.push("COMMAND".to_owned());
        }
        all.extend(self.command.iter().cloned());
        command_line(&all)
    }

    /// Returns the command line with other words between the program and its arguments.
    pub fn with_options(&self, options: &[&str]) -> String {
        let words = self.words();
        let (program, arguments) = words.split_at(words.len().min(1));
        command_line(&[program, options, arguments].concat())
    }

    /// Returns the command line with words after it, and with variables of the environment before
    /// it if there are any.
    pub fn with_last(&self, variables: &[&str], last: &[&str]) -> String {
        let before: &[&str] = if variables.is_empty() { &[] } else { &["env"] };
        command_line(&[before, variables, &self.words(), last].concat())
    }

    /// Returns the words of the command. Without a recorded command, the program's name is the
    /// only word.
    fn words(&self) -> Vec<&str> {
        match self.command.is_empty() {
            true => vec![&self.name],
            false => self.command.iter().map(String::as_str).collect(),
        }
    }

    /// Returns the command line with variables of the environment before it. A variable has the
    /// form NAME=VALUE.
    pub fn with_environment(&self, variables: &[&str]) -> String {
        self.after(&[&["env"], variables].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_and_keep_their_order() {
        let words = ["java", "-jar", "a b.jar"].map(str::to_owned);
        let program = AnsweredProgram::new(words.to_vec(), Path::new("/no/such/java"));
        assert!(program.name == "java" && program.has_managed_heap());
        assert_eq!(
            program.after(&["broadleaf", "run", "--"]),
            "broadleaf run -- java -jar 'a b.jar'"
        );
        assert_eq!(program.with_options(&["-X"]), "java -X -jar 'a b.jar'");
        assert_eq!(
            program.with_environment(&["A=1"]),
            "env A=1 java -jar 'a b.jar'"
        );
        assert_eq!(
            program.with_last(&["A=1"], &["--last"]),
            "env A=1 java -jar 'a b.jar' --last"
        );
        let found = AnsweredProgram::of_command(vec!["sh".to_owned(), "-c".to_owned()]);
        assert!(found.contains("ELF"));
        let given = AnsweredProgram::of_command(vec!["/no/such/java".to_owned()]);
        assert!(given.name == "java" && !given.contains("ELF"));
        let nameless = AnsweredProgram::new(Vec::new(), Path::new("/no/such/redis-server"));
        assert_eq!(nameless.with_last(&[], &["-x"]), "redis-server -x");
        let none = AnsweredProgram::default();
        assert_eq!(
            none.after(&["broadleaf", "run", "--"]),
            "broadleaf run -- COMMAND"
        );
        assert!(!none.contains("libc") && !none.has_managed_heap());
    }
}
