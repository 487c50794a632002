//! A governor over a kernel that is made up.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod deeds;
pub(crate) mod fake;
pub(crate) mod frames;
pub(crate) mod process;

use broadleaf_governor::journal::{Header, JOURNAL_SCHEMA, Journal};
use broadleaf_governor::{
    Allowance, BLOCK_BYTES, Behind, Budgets, Governor, Mapping, PAGES, ProcessId, Ticked, Tree,
    Ward,
};
use broadleaf_policy::Refusal;
use fake::{Fake, Step};
use std::ops::Range;
use std::time::Duration;

/// The first block of the memory that tests map.
pub(crate) const BASE: u64 = 1 << 20;
pub(crate) const MIB: u64 = 1 << 20;
const P: u64 = PAGES as u64;

/// As much as there is.
pub(crate) const UNLIMITED: Budgets = Budgets {
    added: Allowance::Unlimited,
    ..Budgets::DEFAULT
};

/// A governor, a kernel, and a program of theirs.
pub(crate) struct World {
    pub(crate) governor: Governor<Fake>,
    pub(crate) program: ProcessId,
}

impl World {
    /// A program with so many blocks of anonymous memory in one mapping, of which nothing is resident, on a machine of 16 GiB.
    pub(crate) fn new(policy: &str, budgets: Budgets, blocks: u64) -> Self {
        Self::with(policy, budgets, blocks, false)
    }

    /// The same, with a governor that only says what it would do.
    pub(crate) fn dry(policy: &str, budgets: Budgets, blocks: u64) -> Self {
        Self::with(policy, budgets, blocks, true)
    }

    fn with(policy: &str, budgets: Budgets, blocks: u64, dry: bool) -> Self {
        let mut fake = Fake::new(16 << 30);
        let program = fake.spawn();
        fake.step(program.pid, Step::Map(anonymous(0..blocks)));
        let policy = broadleaf_policy::parse(policy).expect("a policy");
        let ward = Ward::new(policy, budgets);
        Self {
            governor: Governor::new(fake, ward, Tree::of([program]), dry),
            program,
        }
    }

    pub(crate) fn fake(&mut self) -> &mut Fake {
        self.governor.kernel()
    }

    /// The program does something.
    pub(crate) fn step(&mut self, step: Step) {
        let pid = self.program.pid;
        self.fake().step(pid, step);
    }

    /// The program stores to the first pages of a block.
    pub(crate) fn fill(&mut self, block: u64, pages: u64) {
        let first = (BASE + block) * P;
        self.step(Step::Touch(first..first + pages));
    }

    /// The program gives pages of a block back.
    pub(crate) fn purge(&mut self, block: u64, pages: Range<u64>) {
        let first = (BASE + block) * P;
        self.step(Step::Purge(first + pages.start..first + pages.end));
    }

    /// A superpage becomes base pages, all of which stay: the program stored to it while a fork shared it, say.
    pub(crate) fn break_whole(&mut self, block: u64) {
        let program = self.program;
        let process = self.fake().processes.get_mut(&program).expect("it lives");
        process.faults += 1;
        if let Some(block) = process.blocks.get_mut(&(BASE + block)) {
            block.huge = false;
        }
    }

    /// One tick, and the wait after it.
    pub(crate) fn tick(&mut self) -> Ticked {
        let ticked = self.governor.tick();
        self.fake().check();
        self.fake().now += ticked.wait;
        ticked
    }

    /// Ticks until so much time has passed.
    pub(crate) fn run_for(&mut self, seconds: u64) -> Vec<Ticked> {
        let until = self.fake().now + Duration::from_secs(seconds);
        let mut ticks = Vec::new();
        while self.fake().now < until {
            ticks.push(self.tick());
        }
        ticks
    }

    pub(crate) fn is_huge(&mut self, block: u64) -> bool {
        let program = self.program;
        self.fake().is_huge(program, BASE + block)
    }

    pub(crate) fn huge(&mut self) -> usize {
        let program = self.program;
        self.fake().huge(program)
    }

    /// How often blocks became superpages.
    pub(crate) fn collapses(&mut self) -> u32 {
        self.fake().collapses.values().sum()
    }

    /// How many blocks were refused for a reason.
    pub(crate) fn refused(&self, reason: Refusal) -> u64 {
        let mut all = self.governor.ward().tally().refusals.iter();
        all.find(|(name, _)| *name == reason)
            .map_or(0, |(_, count)| count)
    }
}

/// Anonymous memory at blocks of the tests' range.
pub(crate) fn anonymous(blocks: Range<u64>) -> Mapping {
    Mapping {
        start: (BASE + blocks.start) * BLOCK_BYTES,
        end: (BASE + blocks.end) * BLOCK_BYTES,
        behind: Behind::Anonymous,
        writable: true,
        congruent: true,
        inode: 0,
        offset: 0,
        name: String::new(),
    }
}

/// What a journal of a run under a policy begins with.
pub(crate) fn header(policy: &str, budgets: Budgets) -> Header {
    Header {
        schema: JOURNAL_SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        policy: policy.to_owned(),
        budgets,
        command: vec![
            "broadleaf".to_owned(),
            "run".to_owned(),
            "a \n b".to_owned(),
        ],
        dry: false,
        started: 1_700_000_000,
    }
}

/// The journal of ticks.
pub(crate) fn journal(header: &Header, ticks: &[Ticked]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut journal = Journal::begin(&mut bytes, header).expect("memory");
    for ticked in ticks {
        journal.tick(ticked).expect("memory");
    }
    bytes
}
