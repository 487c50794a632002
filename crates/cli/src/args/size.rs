//! Sizes as arguments.

/// Parses a number of bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let size = broadleaf_units::size(text);
    size.ok_or_else(|| format!("\"{text}\" is no size; write it as 256M or 2G"))
}
