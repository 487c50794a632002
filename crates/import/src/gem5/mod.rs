//! gem5's packet traces: the requests that a monitor in the memory system saw.

mod messages;

use broadleaf_trace::{DataAccess, Header};
use broadleaf_units::Described;

use crate::error::ImportError;
use crate::foreign_format::ForeignFormat;
use crate::import::{ImportEntry, ImportOptions, LeftOut, OF_NO_BYTES, OpenedImport, Taken};
use crate::references::{Reference, ReferenceImporter, ReferenceReader};
use crate::source::ImportSource;
use messages::{FieldValue, Messages, fields};

/// The catalogue's entry.
pub(crate) static GEM5: ForeignFormat = ForeignFormat {
    described: Described {
        name: "gem5",
        summary: "packet traces of gem5 (.ptrc.gz, .trc.gz), from a monitor or a traffic generator",
        explanation: "Messages of Protocol Buffers: a header, and a packet for each request. \
                  Command 1 (ReadReq) is a load, and 4 (WriteReq) a store, as gem5's own decoder \
                  has them; packets of other commands are left out. A load whose flags say that \
                  it fetches instructions (0x100) is an instruction fetch: it counts as one \
                  instruction, although it may hold several. A packet of no bytes is one of the \
                  byte at its address, and is counted. Addresses are those of the port that was \
                  monitored: they are physical below the TLBs. Ticks, packet numbers and program \
                  counters are left out. Read by `import gem5`, also from standard input and \
                  compressed.",
        source: "gem5, src/proto/packet.proto, src/mem/request.hh and util/decode_packet_trace.py",
    },
    layout: &[
        ("bytes 0-3", "`gem5`"),
        (
            "then",
            "messages: first the header, then a packet for each request. The length of a message \
             comes before it",
        ),
        (
            "a length",
            "a number of seven bits a byte, the lowest first; all bytes but the last have the bit \
             0x80",
        ),
        (
            "a field",
            "a key, then the value. The key is a number: eight times the field's number, plus 0 \
             if the value is a number, or 2 if it is a length and as many bytes",
        ),
        (
            "header, field 1",
            "the name of the monitored object: not read",
        ),
        ("header, field 3", "ticks in a second: not read"),
        ("packet, field 1", "the tick: not read"),
        (
            "packet, field 2",
            "the command: 1 is a read, 4 a write, others are left out",
        ),
        ("packet, field 3", "the address"),
        ("packet, field 4", "the size in bytes"),
        (
            "packet, field 5",
            "flags, perhaps missing: 0x100 is a fetch of instructions",
        ),
        (
            "packet, field 6",
            "the number of the packet, perhaps missing: not read",
        ),
        (
            "packet, field 7",
            "the program counter, perhaps missing: not read",
        ),
    ],
    endings: &["ptrc", "trc"],
    import: Some(ImportEntry {
        open,
        reads_folders: false,
        has_physical: false,
        records: "packets",
    }),
    export: None,
    sample: include_bytes!("sample"),
};

const MAGIC: &[u8] = b"gem5";
/// Commands of packets.
const READ: u64 = 1;
const WRITE: u64 = 4;
/// The flag of a request that fetches instructions.
const INST_FETCH: u64 = 0x100;

/// The fields of a packet that count.
#[derive(Default)]
struct Packet {
    command: Option<u64>,
    address: Option<u64>,
    size: Option<u64>,
    flags: u64,
}

impl Packet {
    fn of(message: &[u8]) -> Result<Self, &'static str> {
        let mut packet = Self::default();
        for field in fields(message) {
            match field.ok_or("a field is cut short or of no known type")? {
                (2, FieldValue::Number(command)) => packet.command = Some(command),
                (3, FieldValue::Number(address)) => packet.address = Some(address),
                (4, FieldValue::Number(size)) => packet.size = Some(size),
                (5, FieldValue::Number(flags)) => packet.flags = flags,
                (2..=5, _) => return Err("a field of the packet has another type than gem5's"),
                _ => {}
            }
        }
        Ok(packet)
    }

    fn reference(&self) -> Result<Reference, String> {
        let (Some(command), Some(address), Some(size)) = (self.command, self.address, self.size)
        else {
            return Err("the packet lacks its command, address or size".to_owned());
        };
        let size = u32::try_from(size).map_err(|_| "the size has more than 32 bits")?;
        let access = match command {
            READ if self.flags & INST_FETCH != 0 => return Ok(Reference::Instruction(address)),
            READ => DataAccess::Load,
            WRITE => DataAccess::Store,
            _ => return Ok(Reference::Nothing),
        };
        if u64::from(size) > MOST_BYTES {
            return Err(format!(
                "the packet has {size} bytes, more than {MOST_BYTES}"
            ));
        }
        Reference::data(access, address, size.into())
    }
}

/// The largest packet, in bytes.
const MOST_BYTES: u64 = 1 << 16;

struct Gem5Reader {
    messages: Messages,
    /// Packets with a reference whose size is 0.
    of_no_bytes: u64,
}

fn open(source: ImportSource, options: &ImportOptions) -> OpenedImport {
    let mut messages = Messages::after(MAGIC, source.decompressed()?)?;
    let header = messages.next()?.map(|header| {
        let mut all = fields(header);
        all.all(|field| field.is_some())
    });
    match header {
        None => return Err(messages.bad_next("the header of the trace is missing")),
        Some(false) => return Err(messages.bad("the header of the trace is damaged")),
        Some(true) => {}
    }
    let reader = Gem5Reader {
        messages,
        of_no_bytes: 0,
    };
    Ok(Box::new(ReferenceImporter::new(reader, options)))
}

impl ReferenceReader for Gem5Reader {
    fn next(&mut self) -> Result<Option<Reference>, ImportError> {
        let Some(message) = self.messages.next()? else {
            return Ok(None);
        };
        let packet = Packet::of(message).map_err(str::to_owned);
        let found = packet.and_then(|packet| Ok((packet.reference()?, packet.size)));
        let (reference, size) = found.map_err(|reason| self.messages.bad(&reason))?;
        self.of_no_bytes += u64::from(size == Some(0) && reference != Reference::Nothing);
        Ok(Some(reference))
    }

    fn bad(&self, reason: &str) -> ImportError {
        self.messages.bad(reason)
    }

    fn describe(&self, header: &mut Header) {
        header.options.instruction_counts = true;
        header.notes.push(
            "imported from a packet trace of gem5: nothing is known of mappings, addresses are \
             those of the monitored port, and each fetch counts as one instruction"
                .to_owned(),
        );
    }

    fn left_out(&self, nothing: u64) -> Vec<LeftOut> {
        LeftOut::some(&[(
            nothing,
            "packets that neither read nor write (responses, writebacks)",
        )])
    }

    fn taken(&self) -> Vec<Taken> {
        Taken::some(&[(self.of_no_bytes, OF_NO_BYTES)])
    }
}

#[cfg(test)]
mod tests;
