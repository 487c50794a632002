//! Numbers for people: groups of three digits, short forms, sizes, shares and ratios.

/// Formats all digits, in groups of three: `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count and its noun, with an s for all counts but one: `1 trace`, `2 traces`.
pub fn counted(count: u64, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(count))
}

/// Formats a number that may be negative, like [`grouped`]: `-1,234`.
pub fn grouped_signed(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.unsigned_abs()))
}

/// Formats three digits and a decimal prefix: `999`, `1.23k`, `45.6M`, `7.89G`.
pub fn short(value: u64) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    scaled(value, 1000.0, &PREFIXES, "")
}

/// Formats a number that may be negative, like [`short`].
pub fn short_signed(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", short(value.unsigned_abs()))
}

/// Formats a size with a binary prefix: `0 B`, `4.00 KiB`, `6.25 MiB`.
pub fn size(bytes: u64) -> String {
    const PREFIXES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    scaled(bytes, 1024.0, &PREFIXES, " ")
}

/// Formats a difference that may be negative, like [`size`].
pub fn size_signed(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", size(bytes.unsigned_abs()))
}

/// Formats a value that is scaled by `step` until at most three digits remain before the point
/// (four for a step of 1024).
fn scaled(value: u64, step: f64, prefixes: &[&str], space: &str) -> String {
    if (value as f64) < step {
        return format!("{value}{space}{}", prefixes[0]);
    }
    let mut scaled = value as f64;
    let mut prefix = 0;
    // Rounding to three digits must not print the next step itself ("1000k").
    while scaled >= step - 0.5 && prefix + 1 < prefixes.len() {
        scaled /= step;
        prefix += 1;
    }
    let decimals = if scaled < 9.995 {
        2
    } else if scaled < 99.95 {
        1
    } else {
        0
    };
    format!("{scaled:.decimals$}{space}{}", prefixes[prefix])
}

/// Formats a share of one as a percentage with one decimal: `12.3%`. A share without a whole is a
/// dash.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "-".to_owned();
    }
    let percent = share * 100.0;
    match percent.abs() {
        small if small > 0.0 && small < 0.05 => {
            let sign = if percent < 0.0 { ">-" } else { "<" };
            format!("{sign}0.1%")
        }
        large if large >= 999.5 => format!("{percent:.0}%"),
        _ => format!("{percent:.1}%"),
    }
}

/// Formats the ratio of `part` to `whole`: `x0.08`, `x1.00`, `x12.3`. The text is a dash if `whole`
/// is zero and `part` is not.
///
/// A ratio that is not zero never prints as zero: the smallest is `<x0.001`.
pub fn ratio(part: u64, whole: u64) -> String {
    let ratio = match (part, whole) {
        (0, 0) => 1.0,
        (_, 0) => return "-".to_owned(),
        (part, whole) => part as f64 / whole as f64,
    };
    match ratio {
        0.0 => "x0".to_owned(),
        tiny if tiny < 0.0005 => "<x0.001".to_owned(),
        small if small < 0.00995 => format!("x{small:.3}"),
        middle if middle < 9.995 => format!("x{middle:.2}"),
        large if large < 99.95 => format!("x{large:.1}"),
        huge => format!("x{huge:.0}"),
    }
}

/// Formats an amount per unit: `0.123`, `4.560`, `<0.001`.
pub fn each(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        return "<0.001".to_owned();
    }
    format!("{share:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_each() {
        for (share, text) in [
            (0.0, "0.000"),
            (0.0004, "<0.001"),
            (0.0005, "0.001"),
            (12.3456, "12.346"),
        ] {
            assert_eq!(each(share), text);
        }
    }

    #[test]
    fn digits_in_groups() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (123_456, "123,456"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(value), text);
        }
        assert_eq!(grouped_signed(-1234), "-1,234");
        assert_eq!(grouped_signed(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn short_forms() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.00k"),
            (9_994, "9.99k"),
            (9_996, "10.0k"),
            (45_600_000, "45.6M"),
            (999_499, "999k"),
            (999_600, "1.00M"),
            (7_890_000_000, "7.89G"),
            (u64::MAX, "18.4E"),
        ] {
            assert_eq!(short(value), text, "{value}");
        }
        assert_eq!(short_signed(-45_600), "-45.6k");
    }

    #[test]
    fn sizes() {
        for (value, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (4096, "4.00 KiB"),
            (6_553_600, "6.25 MiB"),
            ((1 << 30) - 1, "1.00 GiB"),
            (1 << 40, "1.00 TiB"),
        ] {
            assert_eq!(size(value), text, "{value}");
        }
        assert_eq!(size_signed(-4096), "-4.00 KiB");
    }

    #[test]
    fn shares_and_ratios() {
        for (share, text) in [
            (0.0, "0.0%"),
            (0.1234, "12.3%"),
            (0.0001, "<0.1%"),
            (-0.0001, ">-0.1%"),
            (20.0, "2000%"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(percent(share), text);
        }
        for (part, whole, text) in [
            (0, 0, "x1.00"),
            (5, 0, "-"),
            (0, 5, "x0"),
            (1, 1_000_000, "<x0.001"),
            (35, 10_000, "x0.004"),
            (999, 100_000, "x0.01"),
            (8, 100, "x0.08"),
            (100, 100, "x1.00"),
            (123, 10, "x12.3"),
            (1000, 1, "x1000"),
        ] {
            assert_eq!(ratio(part, whole), text);
        }
    }
}
