//! Numbers and texts in the notation of the format.

/// Appends a number, seven bits in each byte, lowest first.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a text: the length in bytes, then the bytes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

const ENDS: &str = "the data ends inside a number";
const LONG: &str = "a number has more than 64 bits";

/// Reads the number at `*at` and moves `*at` to the byte after the number.
#[inline]
pub(crate) fn take(bytes: &[u8], at: &mut usize) -> Result<u64, &'static str> {
    match bytes.get(*at) {
        Some(&byte) if byte < 0x80 => {
            *at += 1;
            Ok(u64::from(byte))
        }
        _ => take_long(bytes, at),
    }
}

/// Decodes a number of two bytes or more.
#[inline]
fn take_long(bytes: &[u8], at: &mut usize) -> Result<u64, &'static str> {
    match peek(bytes, *at) {
        Some((value, length)) => {
            *at += length;
            Ok(value)
        }
        None => take_bytes(bytes, at),
    }
}

/// Decodes the number at `at` and returns its value and length, if eight bytes are left and hold
/// it. The length of a random number cannot be predicted, so there is no branch for each byte.
#[inline(always)]
pub(crate) fn peek(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let ends = ends_in(word);
    if ends == 0 {
        return None;
    }
    let bits = ends.trailing_zeros() + 1;
    Some((value_of(word, bits), bits as usize / 8))
}

/// Decodes two numbers at `at` as [`peek`] does. Returns the values, and the length of both. The
/// second number need not wait for the length of the first.
#[inline(always)]
pub(crate) fn peek_two(bytes: &[u8], at: usize) -> Option<([u64; 2], usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let ends = ends_in(word);
    let later = ends & ends.wrapping_sub(1);
    if later == 0 {
        return None;
    }
    let (first, both) = (ends.trailing_zeros() + 1, later.trailing_zeros() + 1);
    let values = [value_of(word, first), value_of(word >> first, both - first)];
    Some((values, both as usize / 8))
}

/// The top bit of each byte that ends a number.
#[inline(always)]
const fn ends_in(word: u64) -> u64 {
    !word & 0x8080_8080_8080_8080
}

/// The value of the number in the lowest `bits` of a word: 8 to 64.
#[inline(always)]
const fn value_of(word: u64, bits: u32) -> u64 {
    let sevens = word & (u64::MAX >> (u64::BITS - bits)) & 0x7f7f_7f7f_7f7f_7f7f;
    let pairs = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    fours & 0x0fff_ffff | (fours >> 32) << 28
}

/// Decodes a number byte by byte: near the end of the bytes, or if it has more than eight.
#[cold]
fn take_bytes(bytes: &[u8], at: &mut usize) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.get(*at).ok_or(ENDS)?;
        *at += 1;
        // The tenth byte holds the 64th bit alone.
        if shift == 63 && byte > 1 {
            return Err(LONG);
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(LONG)
}

/// A cursor that reads numbers and texts from a byte slice.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The number of bytes read so far.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn byte(&mut self) -> Result<u8, &'static str> {
        let byte = *self.bytes.get(self.at).ok_or("the data ends too early")?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, &'static str> {
        take(self.bytes, &mut self.at)
    }

    /// Reads a number of at most 32 bits.
    #[inline]
    pub(crate) fn number32(&mut self) -> Result<u32, &'static str> {
        u32::try_from(self.number()?).map_err(|_| "a number has more than 32 bits")
    }

    pub(crate) fn bytes(&mut self, count: u64) -> Result<&'a [u8], &'static str> {
        let rest = &self.bytes[self.at..];
        let count = usize::try_from(count).ok().filter(|&n| n <= rest.len());
        let count = count.ok_or("a field is longer than its container")?;
        self.at += count;
        Ok(&rest[..count])
    }

    /// Reads a field that begins with its own length.
    pub(crate) fn prefixed(&mut self) -> Result<&'a [u8], &'static str> {
        let count = self.number()?;
        self.bytes(count)
    }

    pub(crate) fn text(&mut self) -> Result<String, &'static str> {
        let text = std::str::from_utf8(self.prefixed()?).map_err(|_| "a text is not UTF-8")?;
        Ok(text.to_owned())
    }

    /// Reads a count and as many texts.
    pub(crate) fn texts(&mut self) -> Result<Vec<String>, &'static str> {
        let count = self.number()?;
        let mut texts = Vec::new();
        for _ in 0..count {
            texts.push(self.text()?);
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for bits in 0..64 {
            for value in [(1u64 << bits) - 1, 1 << bits, u64::MAX >> bits] {
                let mut bytes = Vec::new();
                put(&mut bytes, value);
                let mut at = 0;
                assert_eq!(take(&bytes, &mut at), Ok(value));
                assert_eq!(at, bytes.len());
                let mut at = 0;
                assert_eq!(take(&bytes[..bytes.len() - 1], &mut at), Err(ENDS));
                // What follows a number does not change how it is read.
                for following in [0, 0x7f, 0x80, 0xff] {
                    let length = bytes.len();
                    bytes.resize(length + 8, following);
                    let mut at = 0;
                    assert_eq!(take(&bytes, &mut at), Ok(value));
                    assert_eq!(at, length);
                    bytes.truncate(length);
                }
            }
        }
    }

    #[test]
    fn two_numbers_are_those_one_after_the_other() {
        let mut bytes = Vec::new();
        for bits in 0..56 {
            put(&mut bytes, (1 << bits) - 1);
            put(&mut bytes, 1 << (bits * 5 % 56));
        }
        let (mut at, mut pairs) = (0, 0);
        while at + 8 <= bytes.len() {
            let (first, length) = peek(&bytes, at).unwrap();
            let second = peek(&bytes, at + length);
            if let Some((values, both)) = peek_two(&bytes, at) {
                let (second, more) = second.unwrap();
                assert_eq!((values, both), ([first, second], length + more));
                pairs += 1;
            } else {
                assert!(second.is_none_or(|(_, more)| length + more > 8));
            }
            at += length;
        }
        assert!(pairs > 20, "{pairs}");
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.push(2);
        assert_eq!(take(&bytes, &mut 0), Err(LONG));
        assert_eq!(take(&[0x80; 11], &mut 0), Err(LONG));
    }

    #[test]
    fn a_text_longer_than_its_holder_is_refused() {
        let mut bytes = Vec::new();
        put_text(&mut bytes, "leaf");
        assert_eq!(Cursor::new(&bytes).text().unwrap(), "leaf");
        assert!(Cursor::new(&bytes[..4]).text().is_err());
        assert!(Cursor::new(&[0xff; 10]).prefixed().is_err());
    }
}
