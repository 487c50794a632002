//! Sizes as arguments.

/// A number of bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let size = broadleaf_units::size(text);
    size.ok_or_else(|| format!("\"{text}\" is no size; write it as 256M or 2G"))
}

/// Refuses a number without a unit that could be one of percent: no size is so small.
pub(crate) fn refuse_percent(text: &str, bytes: u64) -> Result<(), String> {
    let is_bare = text
        .trim_end()
        .ends_with(|last: char| last.is_ascii_digit());
    if is_bare && (1..=1000).contains(&bytes) {
        return Err(format!("{text} bytes hold no page; did you mean {text}%?"));
    }
    Ok(())
}
