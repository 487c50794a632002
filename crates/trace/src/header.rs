//! The header: the metadata in a file's head.

use crate::varint::{self, Cursor};
use crate::{Grain, MeasuredEnds, WindowPlan};

/// The optional content of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// The trace counts instructions.
    pub instruction_counts: bool,
    /// The trace has instruction fetches as separate visits, which carry the instruction counts.
    pub instruction_pages: bool,
    /// The trace has events of address spaces.
    pub events: bool,
    /// The recorder followed child processes.
    pub children: bool,
    /// The trace holds a whole system: a kernel and all of its processes.
    pub system: bool,
    /// The trace of a whole system has events of an instrumented kernel. From the first `RV_` event
    /// on, its reservations are the kernel's.
    pub kernel_events: bool,
    /// The trace has the code of its blocks ([`BlockCode`](crate::BlockCode)).
    pub code: bool,
}

impl Options {
    const fn bits(self) -> u64 {
        self.instruction_counts as u64
            | (self.instruction_pages as u64) << 1
            | (self.events as u64) << 2
            | (self.children as u64) << 3
            | (self.system as u64) << 4
            | (self.kernel_events as u64) << 5
            | (self.code as u64) << 6
    }

    const fn from_bits(bits: u64) -> Self {
        Self {
            instruction_counts: bits & 1 != 0,
            instruction_pages: bits & 2 != 0,
            events: bits & 4 != 0,
            children: bits & 8 != 0,
            system: bits & 16 != 0,
            kernel_events: bits & 32 != 0,
            code: bits & 64 != 0,
        }
    }
}

/// The recorded program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordedProgram {
    /// The path of the program's file.
    pub path: String,
    /// The BLAKE3 hash of the file; zeros if unknown.
    pub hash: [u8; 32],
}

/// The metadata of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The unit of visits.
    pub grain: Grain,
    /// The optional content of the trace.
    pub options: Options,
    /// The recorded command with its arguments; empty if there was none.
    pub command: Vec<String>,
    /// The program's file, if there is one.
    pub program: Option<RecordedProgram>,
    /// Kernel, processor and page sizes, as the recorder found them.
    pub machine: String,
    /// Name and version of the tool that made the trace.
    pub recorder: String,
    /// The start of the recording in seconds since 1970; 0 if unknown.
    pub time: u64,
    /// Run times of the program with base pages and with huge pages, if they were measured.
    pub measured: Option<MeasuredEnds>,
    /// The windows of the program that the trace holds; `None` if it holds the whole program.
    pub windows: Option<WindowPlan>,
    /// Notes for users of the trace.
    pub notes: Vec<String>,
    /// Bytes of the head that are kept free for notes that are known at the end of the trace: 0, or
    /// at least 2. See [`Header::note_in_room`].
    pub room: usize,
}

const UNIT_SHIFT: u64 = 1;
const OPTIONS: u64 = 2;
const COMMAND: u64 = 3;
const PROGRAM: u64 = 4;
const MACHINE: u64 = 5;
const RECORDER: u64 = 6;
const TIME: u64 = 7;
const NOTE: u64 = 8;
const ROOM: u64 = 9;
const MEASURED: u64 = 10;
const WINDOWS: u64 = 11;
/// The maximum content of a field of room. Tag and length then have one byte each.
const MOST_ROOM: usize = 127;

impl Header {
    /// A header with a grain and no other metadata.
    pub fn new(grain: Grain) -> Self {
        Self {
            grain,
            options: Options::default(),
            command: Vec::new(),
            program: None,
            machine: String::new(),
            recorder: String::new(),
            time: 0,
            measured: None,
            windows: None,
            notes: Vec::new(),
            room: 0,
        }
    }

    /// Encodes the body of the file's head.
    pub(crate) fn to_body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut field = |tag, content: &[u8]| {
            varint::put(&mut body, tag);
            varint::put(&mut body, content.len() as u64);
            body.extend_from_slice(content);
        };
        let made = |make: &dyn Fn(&mut Vec<u8>)| {
            let mut content = Vec::new();
            make(&mut content);
            content
        };
        field(UNIT_SHIFT, &[self.grain.shift()]);
        field(OPTIONS, &made(&|out| varint::put(out, self.options.bits())));
        if !self.command.is_empty() {
            let command = made(&|out| {
                varint::put(out, self.command.len() as u64);
                for word in &self.command {
                    varint::put_text(out, word);
                }
            });
            field(COMMAND, &command);
        }
        if let Some(program) = &self.program {
            let program = made(&|out| {
                varint::put_text(out, &program.path);
                out.extend_from_slice(&program.hash);
            });
            field(PROGRAM, &program);
        }
        for (tag, text) in [(MACHINE, &self.machine), (RECORDER, &self.recorder)] {
            if !text.is_empty() {
                field(tag, &made(&|out| varint::put_text(out, text)));
            }
        }
        if self.time != 0 {
            field(TIME, &self.time.to_le_bytes());
        }
        if let Some(measured) = &self.measured {
            field(MEASURED, &made(&|out| measured.put(out)));
        }
        if let Some(windows) = &self.windows {
            field(WINDOWS, &made(&|out| windows.put(out)));
        }
        for note in &self.notes {
            field(NOTE, &made(&|out| varint::put_text(out, note)));
        }
        let mut room = self.room;
        while room >= 2 {
            let mut content = (room - 2).min(MOST_ROOM);
            // One byte is no field.
            content -= usize::from(room - 2 - content == 1);
            field(ROOM, &[0; MOST_ROOM][..content]);
            room -= 2 + content;
        }
        body
    }

    /// Adds a note that takes its bytes from the head's room, so that the head keeps its length.
    /// Returns false, and adds nothing, if the room is too small.
    pub fn note_in_room(&mut self, note: String) -> bool {
        let before = self.to_body().len();
        self.notes.push(note);
        let needed = self.to_body().len() - before;
        match self.room.checked_sub(needed) {
            Some(room) if room != 1 => {
                self.room = room;
                true
            }
            _ => {
                self.notes.pop();
                false
            }
        }
    }

    /// Decodes the body of a file's head.
    pub(crate) fn from_body(body: &[u8]) -> Result<Self, &'static str> {
        let mut fields = Cursor::new(body);
        let mut grain = None;
        let mut header = Self::new(Grain::Page);
        while !fields.is_empty() {
            let tag = fields.number()?;
            let content = fields.prefixed()?;
            let mut field = Cursor::new(content);
            match tag {
                UNIT_SHIFT => {
                    grain = Some(match field.byte()? {
                        12 => Grain::Page,
                        6 => Grain::Line,
                        _ => return Err("the unit is neither a page nor a line"),
                    });
                }
                OPTIONS => header.options = Options::from_bits(field.number()?),
                COMMAND => header.command = field.texts()?,
                PROGRAM => {
                    let path = field.text()?;
                    let hash = field.bytes(32)?.try_into().unwrap_or_default();
                    header.program = Some(RecordedProgram { path, hash });
                }
                MACHINE => header.machine = field.text()?,
                RECORDER => header.recorder = field.text()?,
                TIME => {
                    let bytes = field.bytes(8)?.try_into().unwrap_or_default();
                    header.time = u64::from_le_bytes(bytes);
                }
                MEASURED => header.measured = Some(MeasuredEnds::read(&mut field)?),
                WINDOWS => header.windows = Some(WindowPlan::read(&mut field)?),
                NOTE => header.notes.push(field.text()?),
                ROOM => header.room += 2 + content.len(),
                // An unknown field comes from a later minor version.
                _ => {}
            }
        }
        header.grain = grain.ok_or("the unit is missing")?;
        if header.options.kernel_events && !header.options.system {
            return Err("events of a kernel are announced without a whole system");
        }
        Ok(header)
    }
}
