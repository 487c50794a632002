//! Lines of a text, with their numbers and places.

use std::io::{self, Read};

use crate::error::{ImportError, Spot};
use crate::source::Opened;

/// From this length in bytes on, a line is too long.
pub(crate) const LONGEST: usize = 64 << 10;
/// Bytes that are asked for at once: a line of any length that is taken, and its end.
const BUFFER: usize = LONGEST;

/// Reads lines of at most 64 KiB.
pub(crate) struct Lines {
    from: Opened,
    buffer: Vec<u8>,
    next: usize,
    filled: usize,
    ended: bool,
    /// Lines that were handed out.
    count: u64,
    /// Bytes before the line that was handed out last, and before the next one.
    begin: u64,
    end: u64,
}

impl Lines {
    pub(crate) fn new(from: Opened) -> Self {
        Self {
            from,
            buffer: vec![0; BUFFER],
            next: 0,
            filled: 0,
            ended: false,
            count: 0,
            begin: 0,
            end: 0,
        }
    }

    /// The next line without its end; `None` at the end of the text.
    ///
    /// # Errors
    /// A line is too long, or the input is damaged or cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, ImportError> {
        let mut searched = self.next;
        let end = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                break searched + at;
            }
            searched = self.filled;
            if self.ended {
                if self.next == self.filled {
                    return Ok(None);
                }
                // The last line has no end.
                break self.filled;
            }
            searched -= self.refill()?;
        };
        let line = self.next..end;
        self.next = (end + 1).min(self.filled);
        self.count += 1;
        self.begin = self.end;
        self.end += (self.next - line.start) as u64;
        let line = &self.buffer[line];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Moves the line that has begun to the front, and reads on. Returns the bytes that it moved
    /// by.
    #[cold]
    fn refill(&mut self) -> Result<usize, ImportError> {
        let moved = self.next;
        self.buffer.copy_within(self.next..self.filled, 0);
        self.filled -= moved;
        self.next = 0;
        if self.filled == self.buffer.len() {
            return Err(self.bad_next("the line is longer than 64 KiB".to_owned()));
        }
        loop {
            match self.from.bytes.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.raw_os_error().is_some() => {
                    return Err(ImportError::io(&self.from.name, error));
                }
                Err(error) => {
                    return Err(self.bad_next(format!(
                        "the compressed data after this line is damaged or cut short ({error}): \
                         copy the file again"
                    )));
                }
            }
            return Ok(moved);
        }
    }

    /// The refusal of the line that was handed out last.
    pub(crate) fn bad(&self, reason: impl Into<String>) -> ImportError {
        self.bad_at(self.count, self.begin, reason.into())
    }

    fn bad_next(&self, reason: String) -> ImportError {
        self.bad_at(self.count + 1, self.end, reason)
    }

    fn bad_at(&self, number: u64, offset: u64, reason: String) -> ImportError {
        ImportError::Record {
            name: self.from.name.clone(),
            spot: Spot {
                noun: "line",
                number,
                offset,
                decompressed: self.from.decompressed,
            },
            reason,
        }
    }
}

/// The words of a line, between blanks.
pub(crate) const fn words(line: &[u8]) -> LineWords<'_> {
    LineWords(line)
}

/// The words that are left of a line.
pub(crate) struct LineWords<'l>(&'l [u8]);

impl<'l> Iterator for LineWords<'l> {
    type Item = &'l [u8];

    #[inline]
    fn next(&mut self) -> Option<&'l [u8]> {
        let mut rest = self.0;
        while let [b' ' | b'\t', after @ ..] = rest {
            rest = after;
        }
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t'));
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        self.0 = after;
        (!word.is_empty()).then_some(word)
    }
}

/// The value of each hexadecimal digit, and [`NO_DIGIT`] for other bytes.
const DIGITS: [u8; 256] = digits();
const NO_DIGIT: u8 = 0xff;

const fn digits() -> [u8; 256] {
    let mut digits = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        let lower = b"0123456789abcdef"[digit];
        digits[lower as usize] = digit as u8;
        digits[lower.to_ascii_uppercase() as usize] = digit as u8;
        digit += 1;
    }
    digits
}

/// The number of the hexadecimal digits that a text begins with, and their count. Of more than 16
/// digits, the number is that of the last 16.
#[inline]
pub(crate) fn leading_digits(text: &[u8]) -> (u64, usize) {
    let (mut number, mut count) = (0, 0);
    for byte in text {
        let digit = DIGITS[usize::from(*byte)];
        if digit == NO_DIGIT {
            break;
        }
        number = number << 4 | u64::from(digit);
        count += 1;
    }
    (number, count)
}

/// A hexadecimal number, perhaps after `0x`; `None` for other words, and beyond 64 bits.
#[inline]
pub(crate) fn hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = match word {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        digits => digits,
    };
    if digits.len() > 16 {
        return number(digits, 16);
    }
    let (mut number, mut seen) = (0, 0);
    for byte in digits {
        let digit = DIGITS[usize::from(*byte)];
        number = number << 4 | u64::from(digit);
        seen |= digit;
    }
    (seen != NO_DIGIT && !digits.is_empty()).then_some(number)
}

/// A number of digits alone.
#[inline]
pub(crate) fn number(word: &[u8], radix: u32) -> Option<u64> {
    let (first, others) = word.split_first()?;
    let mut number = u64::from(char::from(*first).to_digit(radix)?);
    for byte in others {
        let digit = char::from(*byte).to_digit(radix)?;
        number = number.checked_mul(u64::from(radix))?;
        number = number.checked_add(u64::from(digit))?;
    }
    Some(number)
}

/// A word in a message: its first letters, with what cannot be printed escaped.
pub(crate) fn shown(word: &[u8]) -> String {
    const MOST: usize = 24;
    let text = word[..word.len().min(MOST)].escape_ascii().to_string();
    match word.len() > MOST {
        true => format!("\"{text}...\""),
        false => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportSource;

    fn lines(text: Vec<u8>) -> Lines {
        let source = ImportSource::stream("x", io::Cursor::new(text));
        Lines::new(source.decompressed().expect("a stream"))
    }

    #[test]
    fn lines_have_numbers_and_places() {
        let mut lines = lines(b"one\r\n\ntwo".to_vec());
        assert_eq!(lines.next().unwrap(), Some(&b"one"[..]));
        assert_eq!(lines.next().unwrap(), Some(&b""[..]));
        assert_eq!(lines.next().unwrap(), Some(&b"two"[..]));
        assert_eq!(lines.bad("no").to_string(), "x: line 3 (at byte 6): no");
        assert_eq!(lines.next().unwrap(), None);
    }

    /// Lines are whole wherever the buffer ends.
    #[test]
    fn lines_across_buffers_are_whole() {
        let all: Vec<String> = (0..40_000).map(|at| format!("line {at}")).collect();
        let mut lines = lines((all.join("\n") + "\n").into_bytes());
        for line in &all {
            assert_eq!(lines.next().unwrap(), Some(line.as_bytes()));
        }
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn endless_lines_are_refused() {
        let mut lines = lines([b"short\n".to_vec(), vec![b'x'; 1 << 20]].concat());
        lines.next().unwrap();
        let refused = lines.next().unwrap_err().to_string();
        assert_eq!(
            refused,
            "x: line 2 (at byte 6): the line is longer than 64 KiB"
        );
    }

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(hexadecimal(b"0xFf"), Some(255));
        assert_eq!(hexadecimal(b"000000000000000000001f"), Some(31));
        for byte in 0..=u8::MAX {
            let digit = char::from(byte).to_digit(16).map(u64::from);
            assert_eq!(hexadecimal(&[byte]), digit);
        }
        assert_eq!(hexadecimal(b"ffffffffffffffff"), Some(u64::MAX));
        assert_eq!(leading_digits(b"1Fx"), (31, 2));
        assert_eq!(leading_digits(b"x1"), (0, 0));
        assert_eq!(
            leading_digits(b"71234567890abcdef"),
            (0x1234_5678_90ab_cdef, 17)
        );
        assert_eq!(number(b"18446744073709551615", 10), Some(u64::MAX));
        for wrong in [&b"18446744073709551616"[..], b"1f", b"-1"] {
            assert_eq!(number(wrong, 10), None);
        }
        for wrong in [&b"+1"[..], b"", b"0x", b"1ffffffffffffffff", b"12 "] {
            assert_eq!(hexadecimal(wrong), None);
        }
    }
}
