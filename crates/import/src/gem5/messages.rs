//! Messages of Protocol Buffers in a file: each has its length before it.
//!
//! Source: Protocol Buffers, "Encoding". A field is a key and a value; the key's low three bits are
//! the value's wire type.

use std::io::{self, Read};

use crate::error::{ImportError, Spot};
use crate::source::Opened;

/// Bytes that are asked for at once, and the longest message.
const BUFFER: usize = 1 << 20;
/// The most bytes of a number.
const MOST_NUMBER: usize = 10;

/// Reads messages of at most 1 MiB.
pub(super) struct Messages {
    from: Opened,
    buffer: Vec<u8>,
    next: usize,
    filled: usize,
    /// Messages that were handed out.
    count: u64,
    /// Bytes before the message that was handed out last, and before the next one.
    begin: u64,
    end: u64,
}

impl Messages {
    /// The messages after `magic`.
    ///
    /// # Errors
    /// The input does not begin with `magic`, or cannot be read.
    pub(super) fn after(magic: &[u8], from: Opened) -> Result<Self, ImportError> {
        let mut messages = Self {
            from,
            buffer: vec![0; BUFFER + MOST_NUMBER],
            next: 0,
            filled: 0,
            count: 0,
            begin: 0,
            end: 0,
        };
        messages.fill(magic.len())?;
        if !messages.buffer[..messages.filled].starts_with(magic) {
            let reason = format!(
                "does not begin with \"{}\" (at byte 0): the input is not a packet trace of gem5",
                magic.escape_ascii()
            );
            return Err(ImportError::input(&messages.from.name, reason));
        }
        messages.next = magic.len();
        messages.end = magic.len() as u64;
        Ok(messages)
    }

    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// The message is too long or cut short, or the input cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, ImportError> {
        self.begin = self.end;
        self.fill(MOST_NUMBER)?;
        if self.next == self.filled {
            return Ok(None);
        }
        let mut rest = &self.buffer[self.next..self.filled];
        let before = rest.len();
        let Some(length) = number(&mut rest) else {
            return Err(self.bad_next("the length of a message is cut short or too large"));
        };
        let head = before - rest.len();
        let Some(length) = usize::try_from(length).ok().filter(|it| *it <= BUFFER) else {
            return Err(self.bad_next("the message is longer than 1 MiB: the file is damaged"));
        };
        self.fill(head + length)?;
        let all = head + length;
        if self.filled - self.next < all {
            return Err(self.bad_next("the input ends inside the message: it was cut short"));
        }
        let message = self.next + head..self.next + all;
        self.count += 1;
        self.next += all;
        self.end += all as u64;
        Ok(Some(&self.buffer[message]))
    }

    /// Reads until `wanted` bytes are there, or the input ends.
    fn fill(&mut self, wanted: usize) -> Result<(), ImportError> {
        if self.filled - self.next >= wanted {
            return Ok(());
        }
        self.buffer.copy_within(self.next..self.filled, 0);
        self.filled -= self.next;
        self.next = 0;
        while self.filled < wanted {
            match self.from.bytes.read(&mut self.buffer[self.filled..]) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error().is_some() => {
                    return Err(ImportError::io(&self.from.name, error));
                }
                Err(error) => {
                    return Err(self.bad_next(&format!(
                        "the compressed data after this message is damaged or cut short \
                         ({error}): copy the file again"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The refusal of the message that was handed out last.
    pub(super) fn bad(&self, reason: &str) -> ImportError {
        self.bad_at(self.count, reason)
    }

    /// The refusal of the next message.
    pub(super) fn bad_next(&self, reason: &str) -> ImportError {
        self.bad_at(self.count + 1, reason)
    }

    fn bad_at(&self, number: u64, reason: &str) -> ImportError {
        ImportError::Record {
            name: self.from.name.clone(),
            spot: Spot {
                noun: "message",
                number,
                offset: self.begin,
                decompressed: self.from.decompressed,
            },
            reason: reason.to_owned(),
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldValue<'m> {
    /// A number of any size.
    Number(u64),
    /// Text, or a message inside the message.
    Bytes(&'m [u8]),
    /// A value of four or eight bytes.
    Fixed,
}

/// The fields of a message: their numbers and values. `None` in place of a field that is wrong.
pub(super) fn fields(mut message: &[u8]) -> impl Iterator<Item = Option<(u64, FieldValue<'_>)>> {
    std::iter::from_fn(move || {
        if message.is_empty() {
            return None;
        }
        let field = field(&mut message);
        if field.is_none() {
            message = &[];
        }
        Some(field)
    })
}

fn field<'m>(message: &mut &'m [u8]) -> Option<(u64, FieldValue<'m>)> {
    let key = number(message)?;
    let value = match key & 7 {
        0 => FieldValue::Number(number(message)?),
        1 => bytes(message, 8).map(|_| FieldValue::Fixed)?,
        2 => {
            let length = usize::try_from(number(message)?).ok()?;
            FieldValue::Bytes(bytes(message, length)?)
        }
        5 => bytes(message, 4).map(|_| FieldValue::Fixed)?,
        _ => return None,
    };
    Some((key >> 3, value))
}

fn bytes<'m>(message: &mut &'m [u8], count: usize) -> Option<&'m [u8]> {
    let (bytes, rest) = message.split_at_checked(count)?;
    *message = rest;
    Some(bytes)
}

/// Takes a number off: seven bits a byte, the lowest first. `None` if it is cut short, or does not
/// fit in 64 bits.
fn number(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..MOST_NUMBER {
        let byte = *from.get(at)?;
        let bits = u64::from(byte & 0x7f);
        if at == MOST_NUMBER - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if byte & 0x80 == 0 {
            *from = &from[at + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let mut bytes = &[0x96, 0x01, 0x00][..];
        assert_eq!(number(&mut bytes), Some(150));
        assert_eq!(number(&mut bytes), Some(0));
        assert_eq!(number(&mut bytes), None);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(number(&mut &most[..]), Some(u64::MAX));
        let more = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(number(&mut &more[..]), None);
    }

    #[test]
    fn fields_of_all_types_are_passed_over() {
        let message = [
            0x08, 0x05, 0x12, 1, b'x', 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x25, 1, 2, 3, 4,
        ];
        let found: Vec<_> = fields(&message).collect();
        assert_eq!(
            found,
            [
                Some((1, FieldValue::Number(5))),
                Some((2, FieldValue::Bytes(b"x"))),
                Some((3, FieldValue::Fixed)),
                Some((4, FieldValue::Fixed)),
            ]
        );
        assert_eq!(fields(&[0x12, 9, b'x']).collect::<Vec<_>>(), [None]);
    }
}
