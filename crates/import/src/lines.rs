//! Lines of a text, with their numbers and places.

use std::io::{self, Read};

use crate::error::{ImportError, Spot};
use crate::source::Opened;

/// Bytes that are asked for at once, and the longest line.
const BUFFER: usize = 64 << 10;

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
        let (word, after) = rest.split_at(word_end(rest));
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

/// Eight equal bytes.
const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The bytes before the first blank of a text.
#[inline]
pub(crate) fn word_end(text: &[u8]) -> usize {
    let (chunks, rest) = text.as_chunks::<8>();
    for (number, chunk) in chunks.iter().enumerate() {
        let chunk = u64::from_le_bytes(*chunk);
        // The lowest high bit that is set is that of the first byte that is zero.
        let is_zero = |bytes: u64| bytes.wrapping_sub(eight(1)) & !bytes & eight(0x80);
        let blanks = is_zero(chunk ^ eight(b' ')) | is_zero(chunk ^ eight(b'\t'));
        if blanks != 0 {
            return 8 * number + blanks.trailing_zeros() as usize / 8;
        }
    }
    let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t'));
    text.len() - rest.len() + end.unwrap_or(rest.len())
}

/// The number of eight hexadecimal digits, and high bits that are set where a byte is no digit.
#[inline]
const fn eight_digits(digits: [u8; 8]) -> (u64, u64) {
    const LOW: u64 = eight(0x7f);
    let bytes = u64::from_be_bytes(digits);
    // 0 to 9 for decimal digits.
    let decimal = bytes ^ eight(b'0');
    let is_no_decimal = ((decimal & LOW) + eight(0x7f - 9)) | decimal;
    // 1 to 6 for letters, whatever their case.
    let letter = (bytes | eight(0x20)) ^ eight(0x60);
    let is_no_letter = ((letter & LOW) + eight(0x7f - 6)) | letter | !((letter & LOW) + LOW);
    let wrong = is_no_decimal & is_no_letter & eight(0x80);
    let is_letter = bytes >> 6 & eight(1);
    let mut number = (bytes & eight(0xf)) + 9 * is_letter;
    number = (number | number >> 4) & 0x00ff_00ff_00ff_00ff;
    number = (number | number >> 8) & 0x0000_ffff_0000_ffff;
    number = (number | number >> 16) & 0xffff_ffff;
    (number, wrong)
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
    if let (Some(first), Some(last)) = (digits.first_chunk::<8>(), digits.last_chunk::<8>()) {
        // The chunks overlap where there are fewer than sixteen digits.
        let (high, wrong) = eight_digits(*first);
        let (low, also_wrong) = eight_digits(*last);
        let beside = 4 * (digits.len() - 8);
        let low = low & ((1 << beside) - 1);
        return (wrong | also_wrong == 0).then_some(high << beside | low);
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
    fn a_word_ends_at_its_first_blank() {
        for blank in [b' ', b'\t'] {
            for end in 0..20 {
                let mut text = [b'!'; 20];
                text[end] = blank;
                assert_eq!(word_end(&text), end);
                text[19] = blank;
                assert_eq!(word_end(&text), end);
                assert_eq!(word_end(&text[..end]), end);
            }
        }
        let bytes: Vec<u8> = (0..=u8::MAX)
            .filter(|byte| !b" \t".contains(byte))
            .collect();
        assert_eq!(word_end(&bytes), bytes.len());
    }

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(hexadecimal(b"0xFf"), Some(255));
        assert_eq!(hexadecimal(b"000000000000000000001f"), Some(31));
        for byte in 0..=u8::MAX {
            let digit = char::from(byte).to_digit(16).map(u64::from);
            assert_eq!(hexadecimal(&[byte]), digit);
            // At each place of each length.
            for length in 1..=16 {
                for at in 0..length {
                    let mut word = [b'1'; 16];
                    word[at] = byte;
                    let word = &word[..length];
                    assert_eq!(hexadecimal(word), number(word, 16), "{word:?}");
                }
            }
        }
        assert_eq!(hexadecimal(b"ffffffffffffffff"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551615", 10), Some(u64::MAX));
        for wrong in [&b"18446744073709551616"[..], b"1f", b"-1"] {
            assert_eq!(number(wrong, 10), None);
        }
        for wrong in [&b"+1"[..], b"", b"0x", b"1ffffffffffffffff", b"12 "] {
            assert_eq!(hexadecimal(wrong), None);
        }
    }
}
