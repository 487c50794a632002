//! One line of Lackey text.

/// The largest access that a line may state, in bytes. Valgrind's largest are the state-saving
/// instructions' (under 16 KiB); anything above is damage.
pub(super) const MAX_SIZE: u64 = 1 << 16;

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LackeyLine {
    /// `I  addr,size`: an instruction began, whose first byte is at `first`.
    Instruction { first: u64 },
    /// ` L addr,size`: a load of the bytes `first..=last`.
    Load { first: u64, last: u64 },
    /// ` S addr,size`: a store.
    Store { first: u64, last: u64 },
    /// ` M addr,size`: a load and a store by one instruction.
    Modify { first: u64, last: u64 },
    /// A blank line, or one of Valgrind's own.
    Nothing,
}

/// Why a line is not one of Lackey's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LackeyReason {
    /// It begins like none of the known kinds.
    #[error("neither I, L, S, M nor one of Valgrind's own lines")]
    Kind,
    /// No hexadecimal address follows the kind.
    #[error("no hexadecimal address after the kind")]
    Address,
    /// The address does not fit 64 bits.
    #[error("the address does not fit 64 bits")]
    AddressOverflow,
    /// No comma and decimal size follow the address.
    #[error("no comma and decimal size after the address")]
    Size,
    /// The size is zero or above [`MAX_SIZE`].
    #[error("the size is not between 1 and {MAX_SIZE}")]
    SizeRange,
    /// The access reaches past the last address.
    #[error("the access reaches past the end of the address space")]
    EndOverflow,
    /// Something follows the size.
    #[error("something follows the size")]
    Trailing,
    /// The line is longer than the reader's buffer may grow.
    #[error("the line is too long")]
    TooLong,
    /// The 64 MiB before the line hold no instruction and no reference.
    #[error("64 MiB before it hold no instruction and no reference")]
    NothingYet,
}

/// Parses the line at the start of `bytes`, which must hold its newline (any bytes after it are
/// ignored). Answers with the line and the length that it takes, the newline included.
///
/// # Panics
/// If `bytes` holds no newline: the caller's error.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Result<(LackeyLine, usize), LackeyReason> {
    // The four forms that make up all of a trace but a handful of lines. The kind is in the second
    // column, or in the first for instructions. A line of fewer than three bytes ends in its
    // newline and matches none of them.
    let kind = match *bytes {
        [b' ', kind @ (b'L' | b'S' | b'M'), b' ', ..] => kind,
        [b'I', b' ', b' ', ..] => b'I',
        _ => return other(bytes),
    };
    let (first, at) = hexadecimal(bytes, 3)?;
    if at == 3 {
        return Err(LackeyReason::Address);
    }
    if bytes[at] != b',' {
        return Err(LackeyReason::Size);
    }
    let (size, mut at) = decimal(bytes, at + 1)?;
    if bytes[at] != b'\n' {
        at = blank_to_newline(bytes, at).ok_or(LackeyReason::Trailing)?;
    }
    if size > MAX_SIZE {
        return Err(LackeyReason::SizeRange);
    }
    let last = first
        .checked_add(size - 1)
        .ok_or(LackeyReason::EndOverflow)?;
    let line = match kind {
        b'I' => LackeyLine::Instruction { first },
        b'L' => LackeyLine::Load { first, last },
        b'S' => LackeyLine::Store { first, last },
        _ => LackeyLine::Modify { first, last },
    };
    Ok((line, at + 1))
}

/// Everything but the four forms: blank lines, Valgrind's own, and what is wrong.
#[cold]
fn other(bytes: &[u8]) -> Result<(LackeyLine, usize), LackeyReason> {
    if let Some(at) = blank_to_newline(bytes, 0) {
        return Ok((LackeyLine::Nothing, at + 1));
    }
    if is_valgrinds_own(bytes) {
        let end = memchr::memchr(b'\n', bytes).expect("the caller gives whole lines");
        return Ok((LackeyLine::Nothing, end + 1));
    }
    Err(LackeyReason::Kind)
}

/// `==123== ...`, `--123-- ...` or `**123** ...`: how Valgrind marks what it says itself.
fn is_valgrinds_own(bytes: &[u8]) -> bool {
    let [mark @ (b'=' | b'-' | b'*'), second, rest @ ..] = bytes else {
        return false;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    second == mark && digits > 0 && rest[digits..].starts_with(&[*mark, *mark])
}

/// The index of the newline if only blanks lie between `at` and it.
fn blank_to_newline(bytes: &[u8], at: usize) -> Option<usize> {
    let blanks = bytes[at..]
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
        .count();
    (bytes[at + blanks] == b'\n').then_some(at + blanks)
}

/// The value of each hexadecimal digit; 255 for every other byte.
const NIBBLE: [u8; 256] = {
    let mut table = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        table[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

/// The hexadecimal number at `at` and where it ends. No digit at all gives `(0, at)`.
#[inline]
fn hexadecimal(bytes: &[u8], mut at: usize) -> Result<(u64, usize), LackeyReason> {
    let mut value = 0_u64;
    loop {
        let nibble = NIBBLE[bytes[at] as usize];
        if nibble == 255 {
            return Ok((value, at));
        }
        if value >> 60 != 0 {
            return Err(LackeyReason::AddressOverflow);
        }
        value = value << 4 | u64::from(nibble);
        at += 1;
    }
}

/// The decimal number at `at`, not zero, and where it ends.
#[inline]
fn decimal(bytes: &[u8], start: usize) -> Result<(u64, usize), LackeyReason> {
    let mut at = start;
    let mut value = 0_u64;
    loop {
        let digit = bytes[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Beyond the largest size the value only has to stay too large.
        value = (value * 10 + u64::from(digit)).min(MAX_SIZE * 2);
        at += 1;
    }
    match (at == start, value) {
        (true, _) => Err(LackeyReason::Size),
        (false, 0) => Err(LackeyReason::SizeRange),
        (false, value) => Ok((value, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_line() {
        for (text, expected) in [
            (
                "I  04010173,3\n",
                LackeyLine::Instruction { first: 0x0401_0173 },
            ),
            (
                " L 1ffeffe7e,8\n",
                LackeyLine::Load {
                    first: 0x1_ffef_fe7e,
                    last: 0x1_ffef_fe85,
                },
            ),
            (
                " S 04222BE8,4\r\n",
                LackeyLine::Store {
                    first: 0x0422_2be8,
                    last: 0x0422_2beb,
                },
            ),
            (
                " M ffffffffffffffff,1\n",
                LackeyLine::Modify {
                    first: u64::MAX,
                    last: u64::MAX,
                },
            ),
            ("\n", LackeyLine::Nothing),
            (" \r\n", LackeyLine::Nothing),
            (
                "==42== Lackey, an example Valgrind tool\n",
                LackeyLine::Nothing,
            ),
            ("--42-- Reading syms\n", LackeyLine::Nothing),
            ("==42== \n", LackeyLine::Nothing),
        ] {
            assert_eq!(
                parse(text.as_bytes()),
                Ok((expected, text.len())),
                "{text:?}"
            );
        }
    }

    #[test]
    fn each_reason_to_refuse() {
        for (text, expected) in [
            (" X 1000,4\n", LackeyReason::Kind),
            ("L 1000,4\n", LackeyReason::Kind),
            ("hello\n", LackeyReason::Kind),
            ("==x== y\n", LackeyReason::Kind),
            ("==12=\n", LackeyReason::Kind),
            ("I \n", LackeyReason::Kind),
            (" L \n", LackeyReason::Address),
            (" L ,4\n", LackeyReason::Address),
            (" L xyz,4\n", LackeyReason::Address),
            (" L 10000000000000000,4\n", LackeyReason::AddressOverflow),
            (" L 1000\n", LackeyReason::Size),
            (" L 1000 4\n", LackeyReason::Size),
            (" L 1000,\n", LackeyReason::Size),
            (" L 1000,-4\n", LackeyReason::Size),
            (" L 1000,0\n", LackeyReason::SizeRange),
            (" L 1000,65537\n", LackeyReason::SizeRange),
            (
                " L 1000,99999999999999999999999999\n",
                LackeyReason::SizeRange,
            ),
            (" L ffffffffffffffff,2\n", LackeyReason::EndOverflow),
            (" L 1000,4 8\n", LackeyReason::Trailing),
            (" L 1000,4x\n", LackeyReason::Trailing),
        ] {
            assert_eq!(parse(text.as_bytes()), Err(expected), "{text:?}");
        }
    }
}
