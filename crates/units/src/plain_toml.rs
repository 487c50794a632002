//! Errors of TOML files in plain words.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::no_key;

/// A message of the TOML reader, in words that do not name types of the program. A message of
/// another form stays.
///
/// # Examples
/// ```
/// let message = "invalid type: string \"one\", expected usize";
/// let plain = broadleaf_units::plain_toml(message);
/// assert_eq!(plain, "this is the text \"one\", and a whole number is expected");
/// ```
pub fn plain_toml(message: &str) -> String {
    if message.starts_with("string values must be quoted") {
        return "a text or a size needs quotation marks, as in key = \"64M\"".to_owned();
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", key.trim_matches('`'));
    }
    if let Some(names) = message.strip_prefix("unknown field ") {
        return unknown_key(names);
    }
    let mut starts = ["invalid type: ", "invalid value: "].into_iter();
    let Some(rest) = starts.find_map(|start| message.strip_prefix(start)) else {
        return message.to_owned();
    };
    let Some((found, expected)) = rest.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let found = found_value(found);
    match largest(expected) {
        Some(_) if found.starts_with('-') => format!("this is {found}, which is less than 0"),
        Some(most) if found.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("this is {found}, and the largest value is {most}")
        }
        _ => format!(
            "this is {found}, and {} is expected",
            expected_value(expected)
        ),
    }
}

/// The refusal of a key. `names` has it and then the keys that there are, each between backticks.
fn unknown_key(names: &str) -> String {
    let mut names = names.split('`').skip(1).step_by(2);
    let key = names.next().unwrap_or_default();
    no_key(key, &names.collect::<Vec<&str>>())
}

fn found_value(found: &str) -> String {
    match found {
        "map" => return "a table".to_owned(),
        "sequence" => return "a list".to_owned(),
        _ => {}
    }
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    let mut kinds = ["integer ", "floating point ", "boolean "].into_iter();
    let number = kinds.find_map(|kind| found.strip_prefix(kind));
    let Some(number) = number else {
        return found.to_owned();
    };
    // A number beyond 64 bits is followed by its type.
    let number = number.split(" as ").next().unwrap_or(number);
    number.trim_matches('`').to_owned()
}

/// The largest number of an unsigned type.
fn largest(expected: &str) -> Option<u64> {
    match expected {
        "u8" => Some(u8::MAX.into()),
        "u16" => Some(u16::MAX.into()),
        "u32" => Some(u32::MAX.into()),
        "u64" | "usize" => Some(u64::MAX),
        _ => None,
    }
}

fn expected_value(expected: &str) -> &str {
    match expected {
        "usize" | "u8" | "u16" | "u32" | "u64" => "a whole number",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number, which may be negative",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" => "a text in quotation marks",
        "string or map" => "a text in quotation marks or a table",
        "a map" => "a table",
        "a sequence" => "a list",
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_no_type() {
        for (message, plain) in [
            (
                "invalid value: integer `-1`, expected usize",
                "this is -1, which is less than 0",
            ),
            (
                "invalid value: integer `5000000000`, expected u32",
                "this is 5000000000, and the largest value is 4294967295",
            ),
            (
                "invalid type: integer `99999999999999999999` as i128, expected usize",
                "this is 99999999999999999999, and the largest value is 18446744073709551615",
            ),
            (
                "invalid type: string \"none\", expected a map",
                "this is the text \"none\", and a table is expected",
            ),
            (
                "invalid type: floating point `1.5`, expected u64",
                "this is 1.5, and a whole number is expected",
            ),
            (
                "invalid type: map, expected a sequence",
                "this is a table, and a list is expected",
            ),
            (
                "invalid type: boolean `true`, expected a string",
                "this is true, and a text in quotation marks is expected",
            ),
            (
                "invalid type: sequence, expected struct CoreText",
                "this is a list, and a table is expected",
            ),
            ("missing field `index`", "the key index is missing"),
            (
                "unknown field `cyles`, expected one of `name`, `cycles`, `tlb`",
                "no key is called \"cyles\" here; did you mean cycles? (there are name, cycles, tlb)",
            ),
            (
                "unknown field `x`, expected `name` or `tlb`",
                "no key is called \"x\" here (there are name, tlb)",
            ),
            (
                "string values must be quoted, expected literal string",
                "a text or a size needs quotation marks, as in key = \"64M\"",
            ),
            ("duplicate key", "duplicate key"),
            ("invalid type: odd", "invalid type: odd"),
        ] {
            assert_eq!(plain_toml(message), plain);
        }
    }
}
