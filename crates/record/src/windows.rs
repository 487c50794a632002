//! Windows of a recording, as a user asks for them.

use std::str::FromStr;

use broadleaf_trace::{WindowPlan, WindowUnit};

/// A stretch of a program: a number of accesses, of instructions, or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowStretch {
    number: u64,
    unit: WindowUnit,
}

/// The position of a program in its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowProgress {
    /// The number of the present or next window, from 0.
    pub number: u64,
    /// True inside the window, false in the gap before it.
    pub inside: bool,
    /// Loads and stores of the program so far, recorded or not.
    pub accesses: u64,
    /// Instructions of the program so far.
    pub instructions: u64,
}

/// The greatest number of a stretch, so that sums of stretches fit in 64 bits.
const MOST: f64 = 1e18;
const SYNTAX: &str = "write a number of accesses (500M, 1.5G), of instructions \
                      ('500M instructions', 500Mi) or of seconds (2s, 500ms)";

impl FromStr for WindowStretch {
    type Err = String;

    /// Parses a number, a multiplier (`k`, `M`, `G`, `T`: powers of 1,000) and a unit. Without a
    /// unit, the number is one of accesses.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || SYNTAX.to_owned();
        let text = text.trim();
        let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
        let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let number: f64 = number.replace('_', "").parse().map_err(|_| bad())?;
        let (multiplier, rest) = multiplier(rest.trim_start());
        let (unit, scale) = match rest.trim_start() {
            "" | "a" | "access" | "accesses" => (WindowUnit::Accesses, 1.0),
            "i" | "instruction" | "instructions" => (WindowUnit::Instructions, 1.0),
            "s" | "second" | "seconds" => (WindowUnit::Microseconds, 1e6),
            "ms" => (WindowUnit::Microseconds, 1e3),
            _ => return Err(bad()),
        };
        let number = number * multiplier * scale;
        if !(0.0..=MOST).contains(&number) {
            return Err(bad());
        }
        Ok(Self {
            number: number.round() as u64,
            unit,
        })
    }
}

/// Takes a multiplier off the start of a text. `ms` is a unit.
fn multiplier(text: &str) -> (f64, &str) {
    for (letter, value) in [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12)] {
        if let Some(rest) = text.strip_prefix(letter) {
            return (value, rest);
        }
    }
    (1.0, text)
}

/// Returns the windows of `--skip`, `--for` and `--every`. Returns `None` if none is given.
///
/// # Errors
/// A sentence for the user if the stretches have different units, a window is empty, or windows
/// overlap.
pub fn windows(
    skip: Option<WindowStretch>,
    length: Option<WindowStretch>,
    every: Option<WindowStretch>,
) -> Result<Option<WindowPlan>, String> {
    let given = || [skip, length, every].into_iter().flatten();
    // Nothing has no unit.
    let mut counted = given().filter(|stretch| stretch.number > 0);
    let Some(first) = counted.next().or_else(|| given().next()) else {
        return Ok(None);
    };
    if counted.any(|other| other.unit != first.unit) {
        return Err(
            "--skip, --for and --every count in one unit: accesses, instructions or seconds"
                .to_owned(),
        );
    }
    let number = |stretch: Option<WindowStretch>| stretch.map_or(0, |stretch| stretch.number);
    let plan = WindowPlan {
        unit: first.unit,
        skip: number(skip),
        length: number(length),
        every: number(every),
    };
    if length.is_some() && plan.length == 0 {
        return Err("--for 0: a window has at least one access, instruction or microsecond".into());
    }
    if every.is_some() && length.is_none() {
        return Err("--every needs --for, the length of each window".to_owned());
    }
    if every.is_some() && plan.every <= plan.length {
        return Err(
            "--every is the distance from the start of a window to the start of the next: it must \
             be greater than --for"
                .to_owned(),
        );
    }
    if length.is_none() && plan.skip == 0 {
        return Ok(None); // The whole program.
    }
    Ok(Some(plan))
}

/// The options of the Valgrind tool for these windows.
pub(crate) fn arguments(plan: &WindowPlan) -> [String; 4] {
    let unit = match plan.unit {
        WindowUnit::Accesses => "accesses",
        WindowUnit::Instructions => "instructions",
        WindowUnit::Microseconds => "microseconds",
    };
    [
        format!("--window-unit={unit}"),
        format!("--window-skip={}", plan.skip),
        format!("--window-for={}", plan.length),
        format!("--window-every={}", plan.every),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(text: &str) -> Option<(u64, WindowUnit)> {
        let stretch: WindowStretch = text.parse().ok()?;
        Some((stretch.number, stretch.unit))
    }

    #[test]
    fn stretches_have_a_number_a_multiplier_and_a_unit() {
        use WindowUnit::{Accesses, Instructions, Microseconds};
        for (text, number, unit) in [
            ("1000", 1000, Accesses),
            ("1_000_000", 1_000_000, Accesses),
            ("1.5G", 1_500_000_000, Accesses),
            ("20k accesses", 20_000, Accesses),
            ("500M instructions", 500_000_000, Instructions),
            ("500Mi", 500_000_000, Instructions),
            ("3Tinstructions", 3_000_000_000_000, Instructions),
            ("2s", 2_000_000, Microseconds),
            ("0.5 s", 500_000, Microseconds),
            ("250ms", 250_000, Microseconds),
        ] {
            assert_eq!(stretch(text), Some((number, unit)), "{text}");
        }
        for text in [
            "", "G", "-1", "1x", "1GG", "1e9", "2e19T", "1.2.3", "nan", "1 h",
        ] {
            assert_eq!(stretch(text), None, "{text}");
        }
    }

    #[test]
    fn windows_that_cannot_be_are_refused() {
        let of = |skip: &str, length: &str, every: &str| {
            let parsed = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
            windows(parsed(skip), parsed(length), parsed(every))
        };
        assert_eq!(of("", "", ""), Ok(None));
        assert_eq!(of("0", "", ""), Ok(None));
        let plan = of("1G", "10M", "100M").unwrap().unwrap();
        assert_eq!((plan.skip, plan.length), (1_000_000_000, 10_000_000));
        assert_eq!(plan.every, 100_000_000);
        let plan = of("0", "1s", "10s").unwrap().unwrap();
        assert_eq!((plan.unit, plan.skip), (WindowUnit::Microseconds, 0));
        assert_eq!(of("5i", "", "").unwrap().unwrap().length, 0);
        for (skip, length, every, word) in [
            ("1G", "1s", "", "one unit"),
            ("", "0", "", "--for 0"),
            ("1", "", "5", "needs --for"),
            ("", "5", "5", "greater"),
        ] {
            let error = of(skip, length, every).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
