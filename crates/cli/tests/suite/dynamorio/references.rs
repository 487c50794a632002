//! The references: a trace of drmemtrace with eight patterns, and the same bytes each time.

use broadleaf_oracle::random::Rng;

/// Data references of each pattern.
const REFERENCES: u64 = 12_000;

/// The first data page, and the first page of code.
const DATA: u64 = 0x7_0000;
const CODE: u64 = 0x400;

/// Types of records, and of markers (DynamoRIO, `common/trace_entry.h`).
mod kind {
    pub(super) const LOAD: u16 = 0;
    pub(super) const STORE: u16 = 1;
    pub(super) const PREFETCH: u16 = 3;
    pub(super) const INSTRUCTION: u16 = 10;
    pub(super) const JUMP: u16 = 11;
    pub(super) const THREAD: u16 = 22;
    pub(super) const THREAD_EXIT: u16 = 23;
    pub(super) const PROCESS: u16 = 24;
    pub(super) const HEADER: u16 = 25;
    pub(super) const FOOTER: u16 = 26;
    pub(super) const MARKER: u16 = 28;
    pub(super) const NO_FETCH: u16 = 29;
    pub(super) const TIME: u16 = 2;
    pub(super) const CPU: u16 = 3;
    pub(super) const FILE_TYPE: u16 = 9;
    pub(super) const LINE_SIZE: u16 = 10;
    pub(super) const VERSION: u16 = 12;
    pub(super) const PAGE_SIZE: u16 = 18;
}

/// The bytes of the trace.
pub(super) fn trace() -> Vec<u8> {
    let mut writer = TraceWriter::default();
    writer.head();
    let mut rng = Rng::new(1);
    for pattern in 0..8 {
        for step in 0..REFERENCES {
            if pattern == 7 && step % 500 == 0 {
                // Two processes with equal addresses take turns.
                writer.switch(1 + step / 500 % 2);
            }
            writer.fetches(pattern, step, &mut rng);
            let times = if pattern == 5 { 1 + rng.below(6) } else { 1 };
            let page = data_page(pattern, step, &mut rng);
            for _ in 0..times {
                writer.refer(pattern, page, &mut rng);
            }
        }
    }
    writer.record(kind::THREAD_EXIT, 8, 2);
    writer.record(kind::THREAD, 8, 1);
    writer.record(kind::PROCESS, 8, 1);
    writer.record(kind::THREAD_EXIT, 8, 1);
    writer.record(kind::FOOTER, 0, 0);
    writer.bytes
}

/// The page of a data reference.
fn data_page(pattern: u64, step: u64, rng: &mut Rng) -> u64 {
    DATA + match pattern {
        // More pages than a first level holds, in turn.
        0 => step % 40,
        // More pages than a second level holds, at random.
        1 => rng.below(3000),
        // Pages that fall into few sets, and pages that fall into all.
        2 => rng.pick(&[256, 8, 1]) * rng.below(12),
        // Few hot pages, and cold ones that do not come again.
        3 if rng.below(4) > 0 => rng.below(8) * rng.below(4),
        3 => 4000 + step,
        // More pages than a second level holds, in turn.
        4 => step % 1100,
        // References one after the other to a page.
        5 => rng.below(90),
        // References that reach into further pages.
        6 => rng.below(60),
        // All of these.
        _ => return data_page(rng.below(7), step, rng),
    }
}

#[derive(Default)]
struct TraceWriter {
    bytes: Vec<u8>,
    /// The address of the next instruction.
    next: u64,
}

impl TraceWriter {
    fn record(&mut self, kind: u16, size: u16, value: u64) {
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(value.to_le_bytes());
    }

    fn head(&mut self) {
        self.record(kind::HEADER, 0, 7);
        self.record(kind::MARKER, kind::VERSION, 7);
        self.record(kind::MARKER, kind::FILE_TYPE, 0x40);
        self.switch(1);
        self.record(kind::MARKER, kind::LINE_SIZE, 64);
        self.record(kind::MARKER, kind::PAGE_SIZE, 4096);
        self.record(kind::MARKER, kind::TIME, 1000);
        self.record(kind::MARKER, kind::CPU, 0);
    }

    /// The thread and the process of that number run.
    fn switch(&mut self, number: u64) {
        self.record(kind::THREAD, 8, number);
        self.record(kind::PROCESS, 8, number);
    }

    /// Up to four instructions of 4 bytes, and sometimes a jump to another page before them.
    fn fetches(&mut self, pattern: u64, step: u64, rng: &mut Rng) {
        let is_at_end = self.next & 4095 == 0;
        if is_at_end || rng.below(3) == 0 {
            let page = match pattern % 4 {
                // A hot loop, and calls of many functions.
                0 | 3 if rng.below(8) > 0 => rng.below(6),
                0 | 3 => rng.below(1500),
                // More pages than a first level holds, in turn.
                1 => step / 3 % 40,
                _ => 64 * rng.below(40),
            };
            self.next = (CODE + page) << 12 | rng.below(500) << 2;
            self.record(kind::JUMP, 4, self.next);
            self.next += 4;
        }
        for _ in 0..rng.below(4) {
            if self.next & 4095 != 0 {
                self.record(kind::INSTRUCTION, 4, self.next);
                self.next += 4;
            }
        }
    }

    fn refer(&mut self, pattern: u64, page: u64, rng: &mut Rng) {
        let access = rng.pick(&[kind::LOAD, kind::LOAD, kind::STORE]);
        let (offset, size) = match (pattern, rng.below(8)) {
            (6, 0 | 1) => (4092, 8),
            (6, 2) => (4000, 8200),
            _ => (rng.below(512) * 8, 8),
        };
        self.record(access, size, page << 12 | offset);
        // Neither simulator looks these up.
        match rng.below(200) {
            0 => self.record(kind::PREFETCH, 1, (DATA + 9000) << 12),
            1 => self.record(kind::NO_FETCH, 4, (CODE + 9000) << 12),
            _ => {}
        }
    }
}
