//! Shared code of the fuzz targets that read files of `study`.

use broadleaf_study::failure::Failure;

/// Asserts that a failure names its file, and that its line lies in the text, or is the line after
/// it.
pub(crate) fn check_failure(file: &str, text: &str, failure: &Failure) {
    assert!(matches!(failure, Failure::Wrong(_)), "{failure}");
    let message = failure.to_string();
    let rest = message.strip_prefix(&format!("{file}: "));
    let rest = rest.unwrap_or_else(|| panic!("it names no file: {message}"));
    if let Some((line, _)) = rest
        .strip_prefix("line ")
        .and_then(|rest| rest.split_once(','))
    {
        let line: usize = line.parse().expect("a number");
        let lines = 1 + text.matches('\n').count();
        assert!((1..=lines).contains(&line), "{message}");
    }
}
