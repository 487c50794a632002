//! Lines that several threads parse, where no line depends on those before it.
//!
//! A thread cuts the text into pieces of whole lines. Parsers take the pieces in turn, and hand
//! their references on in the same turn, so the order stays.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::compression::Bytes;
use crate::error::{ImportError, Spot};
use crate::lines::LONGEST;
use crate::references::Reference;
use crate::source::Opened;

/// The number of parsers. One thread that makes visits keeps up with two.
const PARSERS: usize = 2;
/// The bytes of a piece, whose references stay in a processor's cache.
const PIECE: usize = 2 * LONGEST;
/// The number of pieces that wait for a parser, and of those that it has parsed.
const WAITING: usize = 2;

/// Parses the lines of a format.
pub(crate) trait LineParser: Default + Send + 'static {
    /// Returns true if a line is a record, and false if it is skipped.
    fn is_record(line: &[u8]) -> bool;

    /// The reference of a record.
    ///
    /// # Errors
    /// The fault of the line.
    fn parse(&mut self, line: &[u8]) -> Result<Reference, String>;
}

/// A piece of the text, and its references.
#[derive(Default)]
struct LinePiece {
    /// Whole lines; the last one of the text may lack its end.
    text: Vec<u8>,
    /// The references of the records.
    references: Vec<Reference>,
    /// The number of lines, or of those before the one that is refused.
    lines: u64,
    /// The refusal of a line.
    refused: Option<String>,
    /// The error after the text.
    failed: Option<io::Error>,
}

/// The references of a text.
pub(crate) struct ParsedLines {
    name: String,
    decompressed: bool,
    /// The pieces that the parsers return, in turn.
    parsed: Vec<Receiver<LinePiece>>,
    /// The number of pieces before the current one.
    pieces: usize,
    used: Sender<LinePiece>,
    piece: LinePiece,
    /// References of the current piece that were handed out.
    next: usize,
    /// Lines and bytes before the current piece.
    lines: u64,
    bytes: u64,
    /// Returns true for lines that are records.
    is_record: fn(&[u8]) -> bool,
    /// The text is at its end, or nothing was read after an error.
    has_ended: bool,
}

impl ParsedLines {
    /// Begins to read.
    ///
    /// # Errors
    /// The system starts no thread.
    pub(crate) fn new<P: LineParser>(from: Opened) -> Result<Self, ImportError> {
        let Opened {
            name,
            bytes,
            decompressed,
        } = from;
        let (used, take_used) = channel();
        let parsed = threads::<P>(bytes, take_used);
        let parsed = parsed.map_err(|error| ImportError::io(&name, error))?;
        Ok(Self {
            name,
            decompressed,
            parsed,
            pieces: 0,
            used,
            piece: LinePiece::default(),
            next: 0,
            lines: 0,
            bytes: 0,
            is_record: P::is_record,
            has_ended: false,
        })
    }

    /// The reference of the next record; `None` at the end of the text.
    ///
    /// # Errors
    /// A line is too long or wrong, or the input is damaged or cannot be read.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Reference>, ImportError> {
        loop {
            if let Some(reference) = self.piece.references.get(self.next) {
                self.next += 1;
                return Ok(Some(*reference));
            }
            if !self.turn()? {
                return Ok(None);
            }
        }
    }

    /// Takes the next piece. Returns false at the end of the text, and after an error.
    #[cold]
    fn turn(&mut self) -> Result<bool, ImportError> {
        if self.has_ended {
            return Ok(false);
        }
        self.has_ended = true;
        if let Some(reason) = self.piece.refused.take() {
            let before = self.piece.lines;
            let line = lines(&self.piece.text).nth(before as usize);
            let spot = self.spot(before, line.map_or(0, |(at, _)| at));
            return Err(ImportError::record(&self.name, spot, reason));
        }
        if let Some(error) = self.piece.failed.take() {
            return Err(self.failure(error));
        }
        self.lines += self.piece.lines;
        self.bytes += self.piece.text.len() as u64;
        self.next = 0;
        // The thread may have ended, and needs no piece then.
        let _ = self.used.send(std::mem::take(&mut self.piece));
        let piece = self.parsed[self.pieces % PARSERS].recv();
        self.piece = piece.map_err(|_| {
            let error = io::Error::other("a thread that reads the lines has failed");
            ImportError::io(&self.name, error)
        })?;
        self.pieces += 1;
        self.has_ended = self.piece.text.is_empty() && self.piece.failed.is_none();
        Ok(!self.has_ended)
    }

    /// The error of the input after the current piece.
    fn failure(&self, error: io::Error) -> ImportError {
        if error.raw_os_error().is_some() {
            return ImportError::io(&self.name, error);
        }
        let spot = self.spot(self.piece.lines, self.piece.text.len());
        let reason = format!(
            "the compressed data after this line is damaged or cut short ({error}): copy the file \
             again"
        );
        ImportError::record(&self.name, spot, reason)
    }

    /// The refusal of the record that was handed out last.
    pub(crate) fn bad(&self, reason: impl Into<String>) -> ImportError {
        let (mut number, mut offset, mut records) = (0, 0, 0);
        for (at, line) in lines(&self.piece.text) {
            records += usize::from((self.is_record)(without_return(line)));
            if records == self.next {
                offset = at;
                break;
            }
            number += 1;
        }
        ImportError::record(&self.name, self.spot(number, offset), reason)
    }

    /// The place of a line of the current piece, after these numbers of its lines and bytes.
    const fn spot(&self, lines: u64, bytes: usize) -> Spot {
        Spot {
            noun: "line",
            number: self.lines + lines + 1,
            offset: self.bytes + bytes as u64,
            decompressed: self.decompressed,
        }
    }
}

/// Starts the threads. Returns the channels of the parsers, in turn.
fn threads<P: LineParser>(
    bytes: Bytes,
    used: Receiver<LinePiece>,
) -> io::Result<Vec<Receiver<LinePiece>>> {
    let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
        thread::Builder::new().name(name.to_owned()).spawn(run)
    };
    let (mut parsed, mut parsers) = (Vec::new(), Vec::new());
    for _ in 0..PARSERS {
        let (parser, pieces) = sync_channel::<LinePiece>(WAITING);
        let (done, from_parser) = sync_channel(WAITING);
        start("lines", Box::new(move || parse::<P>(&pieces, &done)))?;
        parsers.push(parser);
        parsed.push(from_parser);
    }
    start("pieces", Box::new(move || cut(bytes, &parsers, &used)))?;
    Ok(parsed)
}

/// The lines of a piece without their ends, each with its place.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let begin = at;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        at += end + 1;
        Some((begin, &rest[..end]))
    })
}

/// A line without the carriage return at its end.
fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Cuts a text into pieces for the parsers, in turn. An empty piece is the end.
fn cut(mut from: Bytes, parsers: &[SyncSender<LinePiece>], used: &Receiver<LinePiece>) {
    let mut rest = Vec::new();
    let mut turns = parsers.iter().cycle();
    let mut send = |piece| {
        turns
            .next()
            .is_some_and(|parser| parser.send(piece).is_ok())
    };
    loop {
        let mut piece = used.try_recv().unwrap_or_default();
        piece.text.clear();
        piece.text.append(&mut rest);
        let wanted = PIECE - piece.text.len();
        let read = from
            .by_ref()
            .take(wanted as u64)
            .read_to_end(&mut piece.text);
        let is_last = match &read {
            Ok(count) => *count < wanted,
            Err(_) => true,
        };
        // A line that has not ended goes to the next piece. Where an error comes, it is lost.
        let end = memchr::memrchr(b'\n', &piece.text).map(|end| end + 1);
        match (read, end) {
            (Err(error), end) => {
                piece.text.truncate(end.unwrap_or(0));
                piece.failed = Some(error);
            }
            (Ok(_), Some(end)) if !is_last => rest = piece.text.split_off(end),
            // Without an end, the line is too long, and the parser says so.
            (Ok(_), _) => {}
        }
        let is_end = piece.text.is_empty() || piece.failed.is_some();
        if !send(piece) || is_end {
            return;
        }
        if is_last {
            // Another read would ask a terminal for more.
            send(LinePiece::default());
            return;
        }
    }
}

/// Parses pieces, up to the first line that is wrong.
fn parse<P: LineParser>(pieces: &Receiver<LinePiece>, done: &SyncSender<LinePiece>) {
    let mut parser = P::default();
    while let Ok(mut piece) = pieces.recv() {
        piece.references.clear();
        piece.lines = 0;
        for (_, line) in lines(&piece.text) {
            let is_long = line.len() >= LONGEST;
            let line = without_return(line);
            let reference = match P::is_record(line) {
                _ if is_long => Err("the line is longer than 64 KiB".to_owned()),
                true => parser.parse(line).map(Some),
                false => Ok(None),
            };
            match reference {
                Ok(reference) => piece.references.extend(reference),
                Err(reason) => {
                    piece.refused = Some(reason);
                    break;
                }
            }
            piece.lines += 1;
        }
        let is_over = piece.refused.is_some();
        if done.send(piece).is_err() || is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
