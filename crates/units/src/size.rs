//! Numbers of bytes in the notation that people write.

/// Reads a number of bytes with an optional suffix: `512M`, `1.5 GiB`, `4096`. K, M, G and T are
/// powers of 1024. Returns `None` if the text is not such a number or exceeds 64 bits.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let bare = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let is_binary = |rest: &&str| rest.ends_with(|last: char| "kKmMgGtT".contains(last));
    let bare = bare.strip_suffix('i').filter(is_binary).unwrap_or(bare);
    let (digits, shift) = match bare.char_indices().last()? {
        (at, 'k' | 'K') => (&bare[..at], 10),
        (at, 'm' | 'M') => (&bare[..at], 20),
        (at, 'g' | 'G') => (&bare[..at], 30),
        (at, 't' | 'T') => (&bare[..at], 40),
        _ => (bare, 0),
    };
    let digits = digits.trim();
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(1 << shift);
    }
    let number: f64 = digits.parse().ok()?;
    let bytes = number * (1_u64 << shift) as f64;
    (number >= 0.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Returns true if a number of bytes without a unit is so small, 1 to 1000, that it probably means
/// a percentage.
pub fn lacks_unit(text: &str, bytes: u64) -> bool {
    let is_bare = (text.trim_end()).ends_with(|last: char| last.is_ascii_digit());
    is_bare && (1..=1000).contains(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_without_a_unit_are_found() {
        assert!(lacks_unit("5", 5) && lacks_unit("1000 ", 1000));
        for (text, bytes) in [("0", 0), ("4096", 4096), ("512B", 512), ("1K", 1024)] {
            assert!(!lacks_unit(text, bytes), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_exactly() {
        for (text, bytes) in [
            ("4097", 4097),
            ("512M", 512 << 20),
            ("1.5G", 3 << 29),
            (" 2 GiB ", 2 << 30),
            ("16kB", 16 << 10),
            ("512Mi", 512 << 20),
            ("512mib", 512 << 20),
            ("8b", 8),
            // A float cannot represent this number.
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "ten",
            "-5",
            "nan",
            "inf",
            "1X",
            "1i",
            "1ib",
            "99999999T",
            "1e400",
            "K",
        ] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
