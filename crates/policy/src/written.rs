//! The notation of numbers, sets of page sizes and shares in the names of policies.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use broadleaf_units::{SizeSet, WantedShares};

/// The result of reading a number.
pub(crate) enum Number {
    /// A number.
    Is(u64),
    /// A number of more than 64 bits.
    TooLarge,
    /// Another text.
    None,
}

/// Reads `64`, `1e6`, `25e5`.
pub(crate) fn number(text: &str) -> Number {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let all_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(digits) || !all_digits(exponent) {
        return Number::None;
    }
    let value = digits.parse::<u64>().ok().zip(exponent.parse::<u32>().ok());
    match value.and_then(|(digits, exponent)| digits.checked_mul(10u64.checked_pow(exponent)?)) {
        Some(value) => Number::Is(value),
        None => Number::TooLarge,
    }
}

/// Reads a period: a number of accesses, or of seconds (`10s`) or milliseconds (`100ms`) at `rate`
/// accesses per second.
pub(crate) fn period(text: &str, rate: u64) -> Number {
    let (digits, unit) = if let Some(digits) = text.strip_suffix("ms") {
        (digits, rate / 1000)
    } else if let Some(digits) = text.strip_suffix('s') {
        (digits, rate)
    } else {
        (text, 1)
    };
    match number(digits) {
        Number::Is(value) => match value.checked_mul(unit) {
            Some(value) => Number::Is(value),
            None => Number::TooLarge,
        },
        other => other,
    }
}

/// Writes a number in the notation of [`number`]. Three or more zeroes at the end become an
/// exponent.
pub(crate) fn write_number(value: u64) -> String {
    let (mut digits, mut exponent) = (value, 0);
    while digits != 0 && digits.is_multiple_of(10) {
        digits /= 10;
        exponent += 1;
    }
    if exponent >= 3 {
        alloc::format!("{digits}e{exponent}")
    } else {
        value.to_string()
    }
}

/// The letters of 2^10, 2^20 and 2^30 bytes, smallest first.
const UNITS: [(char, u8); 3] = [('k', 10), ('m', 20), ('g', 30)];

/// The valid page sizes: from the smallest base page to the largest leaf of a page table with four
/// levels.
const SHIFTS: core::ops::RangeInclusive<u8> = 12..=39;

/// Reads `64k+2m`, `all` or `none`. Returns `None` for other texts, and for sizes that are not page
/// sizes.
pub(crate) fn sizes(text: &str) -> Option<SizeSet> {
    match text {
        "all" => return Some(SizeSet::All),
        "none" => return Some(SizeSet::These(0)),
        _ => {}
    }
    let mut shifts = text.split('+').map(|size| shift(size.trim()));
    let set = shifts.try_fold(0, |set, shift| Some(set | 1 << shift?))?;
    Some(SizeSet::These(set))
}

fn shift(size: &str) -> Option<u8> {
    let letter = size.chars().last()?.to_ascii_lowercase();
    let (_, unit) = UNITS.into_iter().find(|(known, _)| *known == letter)?;
    let Number::Is(count) = number(&size[..size.len() - 1]) else {
        return None;
    };
    let shift = unit.checked_add(u8::try_from(count.trailing_zeros()).ok()?)?;
    (count.is_power_of_two() && SHIFTS.contains(&shift)).then_some(shift)
}

/// Writes a set in the notation of [`sizes`], smallest size first. [`SizeSet::Block`] becomes `2m`,
/// its usual size.
pub(crate) fn write_sizes(sizes: SizeSet) -> String {
    let shifts = match sizes {
        SizeSet::All => return "all".to_string(),
        SizeSet::These(0) => return "none".to_string(),
        SizeSet::These(shifts) => shifts,
        SizeSet::Block => 1 << 21,
    };
    let named: Vec<String> = (0..64)
        .filter(|shift| shifts >> shift & 1 != 0)
        .map(|shift| {
            let unit = UNITS.into_iter().rfind(|(_, unit)| *unit <= shift);
            match unit {
                Some((letter, unit)) => alloc::format!("{}{letter}", 1u64 << (shift - unit)),
                None => (1u64 << shift).to_string(),
            }
        })
        .collect();
    named.join("+")
}

/// Reads shares of a cache, one for each owner: `1/4+1/2+1/8`. The whole cache is `1` or `1/1`.
/// Returns `None` for other texts, and for shares that are not one divided by a power of two.
pub(crate) fn shares(text: &str) -> Option<WantedShares> {
    let divisor = |share: &str| match share.split_once('/') {
        None => (share.trim() == "1").then_some(1),
        Some((one, divisor)) => {
            let divisor = divisor.trim();
            let is_number = !divisor.is_empty() && divisor.bytes().all(|it| it.is_ascii_digit());
            let divisor = divisor.parse().ok().filter(|_| is_number)?;
            (one.trim() == "1").then_some(divisor)
        }
    };
    let divisors: Option<Vec<u64>> = text.split('+').map(divisor).collect();
    WantedShares::new(&divisors?).ok()
}

/// Writes shares in the notation of [`shares`].
pub(crate) fn write_shares(shares: &WantedShares) -> String {
    let written: Vec<String> = shares
        .divisors()
        .map(|divisor| match divisor {
            1 => "1".to_string(),
            _ => alloc::format!("1/{divisor}"),
        })
        .collect();
    written.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_any_order_and_written_smallest_first() {
        for (text, set) in [
            ("2m", 1 << 21),
            ("64k+2m", 1 << 16 | 1 << 21),
            ("2M+64K", 1 << 16 | 1 << 21),
            ("2m + 64k + 2048k", 1 << 16 | 1 << 21),
            ("8k+512g", 1 << 13 | 1 << 39),
            ("1g", 1 << 30),
            ("4k", 1 << 12),
        ] {
            let read = sizes(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(read, SizeSet::These(set), "{text}");
            assert_eq!(sizes(&write_sizes(read)), Some(read), "{text}");
        }
        assert_eq!(write_sizes(SizeSet::These(1 << 21 | 1 << 16)), "64k+2m");
        assert_eq!(sizes("all"), Some(SizeSet::All));
        assert_eq!(sizes("none"), Some(SizeSet::These(0)));
        for word in ["all", "none"] {
            assert_eq!(sizes(word).map(write_sizes).as_deref(), Some(word));
        }
    }

    #[test]
    fn invalid_page_sizes_are_refused() {
        for text in [
            "", "+", "2m+", "3m", "0k", "2k", "3k", "2", "2097152", "2mb", "1024g", "1e30g", "m",
            "Block", "64k,2m", "é",
        ] {
            assert_eq!(sizes(text), None, "{text}");
        }
    }

    #[test]
    fn shares_are_read_and_written_in_the_order_of_owners() {
        for (text, written) in [
            ("1", "1"),
            ("1/1", "1"),
            ("1/4+1/2+1/8+1/8", "1/4+1/2+1/8+1/8"),
            (" 1 / 64 + 1 ", "1/64+1"),
        ] {
            let read = shares(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(write_shares(&read), written);
            assert_eq!(shares(written), Some(read));
        }
        let seventeen = ["1/32"; 17].join("+");
        let wrong = [
            "", "+", "2", "1/3", "1/0", "1/128", "2/4", "1/+4", "1/-4", "1/", "/4",
        ];
        for text in wrong.into_iter().chain(["1/4,1/4", "0.5", &seventeen]) {
            assert_eq!(shares(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_round_trip() {
        for value in [
            0,
            1,
            10,
            100,
            999,
            1000,
            1234,
            25_000,
            10_000_000_000,
            u64::MAX,
        ] {
            assert!(matches!(number(&write_number(value)), Number::Is(read) if read == value));
        }
        assert_eq!(write_number(10_000_000_000), "1e10");
        assert!(matches!(number("1e20"), Number::TooLarge));
        assert!(matches!(number("1.5"), Number::None));
    }
}
