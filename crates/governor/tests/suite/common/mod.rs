//! A governor over a fake kernel.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod deeds;
pub(crate) mod fake;
mod fake_kernel;
pub(crate) mod frames;
pub(crate) mod observations;
pub(crate) mod process;

use broadleaf_governor::journal::{Header, JOURNAL_SCHEMA, Journal};
use broadleaf_governor::{
    Allowance, BLOCK_BYTES, BlockHeat, Budgets, Governor, LiveBacking, LiveMapping, PAGES,
    ProcessId, ProcessTree, Ticked, Ward,
};
use broadleaf_policy::Refusal;
use fake::{Fake, FakeStep};
use std::ops::Range;
use std::time::Duration;

/// The first block of the memory that tests map.
pub(crate) const BASE: u64 = 1 << 20;
pub(crate) const MIB: u64 = 1 << 20;
const P: u64 = PAGES as u64;

/// Budgets without limits.
pub(crate) const UNLIMITED: Budgets = Budgets {
    added: Allowance::Unlimited,
    ..Budgets::DEFAULT
};

/// A governor, a fake kernel, and one of its programs.
pub(crate) struct FakeWorld {
    pub(crate) governor: Governor<Fake>,
    pub(crate) program: ProcessId,
}

impl FakeWorld {
    /// Creates a program with `blocks` blocks of anonymous memory in one mapping without resident
    /// pages. The machine has 16 GiB.
    pub(crate) fn new(policy: &str, budgets: Budgets, blocks: u64) -> Self {
        Self::with(policy, budgets, blocks, false)
    }

    /// Creates the same world with a governor that changes nothing.
    pub(crate) fn dry(policy: &str, budgets: Budgets, blocks: u64) -> Self {
        Self::with(policy, budgets, blocks, true)
    }

    fn with(policy: &str, budgets: Budgets, blocks: u64, dry: bool) -> Self {
        let mut fake = Fake::new(16 << 30);
        let program = fake.spawn();
        fake.step(program.pid, FakeStep::Map(anonymous(0..blocks)));
        let policy = broadleaf_policy::parse(policy).expect("a policy");
        let ward = Ward::new(policy, budgets);
        Self {
            governor: Governor::new(fake, ward, ProcessTree::of([program]), dry),
            program,
        }
    }

    pub(crate) fn fake(&mut self) -> &mut Fake {
        self.governor.kernel()
    }

    /// Performs an action of the program.
    pub(crate) fn step(&mut self, step: FakeStep) {
        let pid = self.program.pid;
        self.fake().step(pid, step);
    }

    /// Stores to the first pages of a block.
    pub(crate) fn fill(&mut self, block: u64, pages: u64) {
        let first = (BASE + block) * P;
        self.step(FakeStep::Touch(first..first + pages));
    }

    /// Returns pages of a block to the kernel.
    pub(crate) fn purge(&mut self, block: u64, pages: Range<u64>) {
        let first = (BASE + block) * P;
        self.step(FakeStep::Purge(first + pages.start..first + pages.end));
    }

    /// Measures the use of blocks: the used pages of each block, by the block's number.
    pub(crate) fn measure(&mut self, used: impl IntoIterator<Item = (u64, u16)>) {
        let program = self.program;
        let blocks = used.into_iter().map(|(block, used)| BlockHeat {
            block: BASE + block,
            used,
        });
        let process = self.fake().processes.get_mut(&program).expect("it lives");
        process.used = Some(blocks.collect());
    }

    /// Splits a superpage into base pages without loss of a page, as a store to a forked superpage
    /// does.
    pub(crate) fn break_whole(&mut self, block: u64) {
        let program = self.program;
        let process = self.fake().processes.get_mut(&program).expect("it lives");
        process.faults += 1;
        if let Some(block) = process.blocks.get_mut(&(BASE + block)) {
            block.huge = false;
        }
    }

    /// Runs one tick and the wait after it.
    pub(crate) fn tick(&mut self) -> Ticked {
        let ticked = self.governor.tick();
        self.fake().check();
        self.fake().now += ticked.wait;
        ticked
    }

    /// Runs ticks until this time has passed.
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

    /// Returns the number of promotions.
    pub(crate) fn collapses(&mut self) -> u32 {
        self.fake().collapses.values().sum()
    }

    /// Returns the number of blocks that were refused for a reason.
    pub(crate) fn refused(&self, reason: Refusal) -> u64 {
        let mut all = self.governor.ward().tally().refusals.iter();
        all.find(|(name, _)| *name == reason)
            .map_or(0, |(_, count)| count)
    }
}

/// Returns a mapping of anonymous memory at blocks of the tests' range.
pub(crate) fn anonymous(blocks: Range<u64>) -> LiveMapping {
    LiveMapping {
        start: (BASE + blocks.start) * BLOCK_BYTES,
        end: (BASE + blocks.end) * BLOCK_BYTES,
        backing: LiveBacking::Anonymous,
        writable: true,
        congruent: true,
        inode: 0,
        offset: 0,
        name: String::new(),
    }
}

/// Returns the header of a journal.
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

/// Returns the journal of ticks.
pub(crate) fn journal(header: &Header, ticks: &[Ticked]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut journal = Journal::begin(&mut bytes, header).expect("memory");
    for ticked in ticks {
        journal.tick(ticked).expect("memory");
    }
    bytes
}
