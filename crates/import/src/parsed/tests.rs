use super::*;
use broadleaf_trace::DataAccess;

/// A line with a number is the load of that address, and an empty line is none.
#[derive(Default)]
struct NumberLines;

impl LineParser for NumberLines {
    fn is_record(line: &[u8]) -> bool {
        !line.is_empty()
    }

    fn parse(&mut self, line: &[u8]) -> Result<Reference, String> {
        let number = crate::lines::number(line, 10).ok_or("no number")?;
        Ok(Reference::Data(DataAccess::Load, number, number))
    }
}

fn parsed(from: impl Read + Send + 'static) -> ParsedLines {
    let opened = Opened {
        name: "x".to_owned(),
        bytes: Box::new(from),
        decompressed: false,
    };
    ParsedLines::new::<NumberLines>(opened).expect("threads")
}

fn text(text: impl Into<Vec<u8>>) -> ParsedLines {
    parsed(io::Cursor::new(text.into()))
}

/// The numbers of a text up to its end or to a refusal.
fn numbers(mut lines: ParsedLines) -> (Vec<u64>, Option<String>) {
    let mut found = Vec::new();
    loop {
        match lines.next() {
            Ok(Some(Reference::Data(_, first, _))) => found.push(first),
            Ok(Some(other)) => panic!("{other:?}"),
            Ok(None) => {
                assert_eq!(lines.next().expect("the end"), None);
                return (found, None);
            }
            Err(error) => {
                assert_eq!(lines.next().expect("the end"), None);
                return (found, Some(error.to_string()));
            }
        }
    }
}

#[test]
fn references_are_in_order_over_all_pieces() {
    // Lines of many lengths, so that pieces end anywhere.
    let all: Vec<u64> = (0..200_000u64).map(|at| at * at * at).collect();
    let lines: Vec<String> = all.iter().map(u64::to_string).collect();
    for end in ["", "\n", "\n\n"] {
        let (found, refused) = numbers(text(lines.join("\n") + end));
        assert!(found == all && refused.is_none(), "{refused:?}");
    }
    let (found, _) = numbers(text("1\r\n\r\n2"));
    assert_eq!(found, [1, 2]);
    assert_eq!(numbers(text("")), (Vec::new(), None));
}

#[test]
fn a_wrong_line_is_refused_with_its_place_after_all_before_it() {
    for before in [0u64, 1, 30_000, 123_456] {
        let lines: String = (0..before).map(|at| format!("{at}\n\n")).collect();
        let offset = lines.len();
        let (found, refused) = numbers(text(lines + "y\n" + &"7\n".repeat(300_000)));
        assert!(found.iter().copied().eq(0..before));
        let place = format!("x: line {} (at byte {offset}): no number", 2 * before + 1);
        assert_eq!(refused, Some(place));
    }
}

#[test]
fn the_last_record_has_its_place() {
    let mut lines = text("\n5\n\n\n6\n7\n");
    for place in [
        "line 2 (at byte 1)",
        "line 5 (at byte 5)",
        "line 6 (at byte 7)",
    ] {
        lines.next().expect("a record");
        assert_eq!(lines.bad("no").to_string(), format!("x: {place}: no"));
    }
}

#[test]
fn long_lines_are_refused() {
    for length in [LONGEST, PIECE - 1, PIECE, 3 * PIECE] {
        let (found, refused) = numbers(text("1\n".to_owned() + &"2".repeat(length) + "\n3\n"));
        assert_eq!(found, [1]);
        let place = "x: line 2 (at byte 2): the line is longer than 64 KiB";
        assert_eq!(refused.as_deref(), Some(place));
    }
    let zeros = "0".repeat(LONGEST - 2) + "7";
    let (found, refused) = numbers(text("1\n".to_owned() + &zeros + "\n3\n"));
    assert_eq!((found, refused), (vec![1, 7, 3], None));
}

/// Gives its bytes, and then fails.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::ErrorKind::InvalidData.into()),
            count => Ok(count),
        }
    }
}

#[test]
fn an_error_comes_after_the_lines_before_it() {
    for before in [0u64, 2, 100_000] {
        let lines: String = (0..before).map(|at| format!("{at}\n")).collect();
        let offset = lines.len();
        let cut = lines + "12";
        let (found, refused) = numbers(parsed(Failing(io::Cursor::new(cut.into_bytes()))));
        assert!(found.iter().copied().eq(0..before));
        let place = format!("x: line {} (at byte {offset}): the compressed", before + 1);
        let refused = refused.expect("an error");
        assert!(refused.starts_with(&place), "{refused}");
    }
}

#[test]
fn nothing_waits_for_a_reader_that_is_gone() {
    let mut lines = parsed(io::repeat(b'\n').chain(io::empty()));
    drop(std::mem::replace(&mut lines, text("1\n")));
    assert_eq!(numbers(lines).0, [1]);
}
