//! Splitting a text into words, numbers and signs.

use super::ExpressionError;
use alloc::vec::Vec;
use core::ops::Range;

/// The largest number: 2^53. Expressions cannot distinguish larger integers.
pub(super) const MOST: f64 = 9_007_199_254_740_992.0;

/// The maximum number of tokens of an expression. Real expressions have fewer, and the tree of so
/// few tokens is shallow.
const MOST_TOKENS: usize = 1000;

/// A word, a number or a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lexeme<'a> {
    /// A name or a key word.
    Word(&'a str),
    /// `64`, `1e6`, `0.125`.
    Number(f64),
    /// `12.5%`: a percentage of the block's pages.
    Percent(f64),
    /// `64k`, in bytes.
    Size(u64),
    /// An operator, a bracket or a semicolon.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// A lexeme with its position.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) what: Lexeme<'a>,
    pub(super) at: Range<usize>,
}

/// Signs. Each sign precedes its prefixes.
const SIGNS: &[&str] = &[
    ">=", "<=", "==", "!=", ">", "<", "+", "-", "*", "/", "(", ")", ";",
];

/// Operators of other languages, with the equivalents here.
const FOREIGN: &[(&str, &str)] = &[
    ("&&", "and"),
    ("||", "or"),
    ("&", "and"),
    ("|", "or"),
    ("=", "=="),
    ("!", "not"),
];

/// Splits a text from byte `from` on. The last token is [`Lexeme::End`].
pub(super) fn tokens(text: &str, from: usize) -> Result<Vec<Token<'_>>, ExpressionError> {
    let mut found = Vec::new();
    let mut start = from;
    loop {
        let rest = text.get(start..).unwrap_or("");
        start = text.len() - rest.trim_start().len();
        let rest = &text[start..];
        let Some(letter) = rest.chars().next() else {
            let at = text.len()..text.len();
            found.push(Token {
                what: Lexeme::End,
                at,
            });
            return Ok(found);
        };
        let (what, length) = if letter.is_ascii_digit() || letter == '.' {
            number(text, start)?
        } else if is_of_word(letter) {
            let word = length_while(rest, is_of_word);
            (Lexeme::Word(&rest[..word]), word)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Lexeme::Sign(sign), sign.len())
        } else {
            let known = FOREIGN
                .iter()
                .find(|(foreign, _)| rest.starts_with(foreign));
            return Err(match known {
                Some((foreign, ours)) => {
                    let at = start..start + foreign.len();
                    ExpressionError::new(
                        text,
                        at,
                        alloc::format!("write `{ours}` in place of `{foreign}`"),
                    )
                }
                None => {
                    let at = start..start + letter.len_utf8();
                    ExpressionError::new(text, at, alloc::format!("{letter:?} has no meaning here"))
                }
            });
        };
        let at = start..start + length;
        start = at.end;
        if found.len() == MOST_TOKENS {
            let message =
                alloc::format!("an expression has at most {MOST_TOKENS} words, numbers and signs");
            return Err(ExpressionError::new(text, at, message));
        }
        found.push(Token { what, at });
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn length_while(text: &str, of: fn(char) -> bool) -> usize {
    text.find(|letter| !of(letter)).unwrap_or(text.len())
}

/// Parses the number at byte `start`, and returns its length.
fn number(text: &str, start: usize) -> Result<(Lexeme<'_>, usize), ExpressionError> {
    let rest = &text[start..];
    let digits = |from: usize| length_while(&rest[from..], |letter| letter.is_ascii_digit());
    let whole = digits(0);
    let mut end = whole;
    if rest[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let letters = length_while(&rest[end..], is_of_word);
    let suffix = &rest[end..end + letters];
    let percent = suffix.is_empty() && rest[end..].starts_with('%');
    let length = end + letters + usize::from(percent);
    let error = |message: &str| Err(ExpressionError::new(text, start..start + length, message));
    let written = &rest[..end];
    let Ok(value) = written.parse::<f64>() else {
        return error("this is not a number: write it as 64, 0.125 or 1e6");
    };
    if value > MOST {
        return error("numbers above 2^53 (some 9e15) are not exact");
    }
    let shift = match suffix {
        "" => {
            let what = if percent {
                Lexeme::Percent
            } else {
                Lexeme::Number
            };
            return Ok((what(value), length));
        }
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => {
            return error(
                "a number ends with k, m or g if it counts bytes, and with % if it is a part of \
                 the block's pages",
            );
        }
    };
    match written
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(1 << shift))
    {
        _ if whole != end => error("a size in bytes is an integer number of k, m or g"),
        Some(bytes) if bytes as f64 <= MOST => Ok((Lexeme::Size(bytes), length)),
        _ => error("numbers above 2^53 (some 9e15) are not exact"),
    }
}
