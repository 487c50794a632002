//! The arguments of `record`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;

use broadleaf_record::system::GuestMachine;
use broadleaf_record::trap::Mechanism;
use broadleaf_record::valgrind::{self, Clock};
use broadleaf_record::windows::WindowStretch;
use clap::{Args, ValueEnum, ValueHint};

use broadleaf_study::engine_options::refuse_options;
use broadleaf_study::failure::Failure;
use broadleaf_study::recording::{PageSize, cannot_attach, size_to_align_to};

use super::TableOrJson;
use super::number::rounds;
use super::size::size;

/// Record a program's memory references
///
/// Runs a command and records every load and store that it makes, in exact order, and every change
/// to its mappings. The command keeps its standard input and output. It runs 3 to 20 times slower
/// than without the recorder. Programs that run much different code for a short time, such as
/// compilers and interpreters, run 20 to 45 times slower.
///
/// The exit status is 0 if the recording is complete; the command's own status is printed. It is
/// 126 if the command cannot be run, and 127 if it is not found. The command ends when the recorder
/// is killed. A recording that was cut short, by a signal, a full disk or a crash, can be read up
/// to its last whole chunk (--keep-going). A killed recorder loses the last two seconds, a crash of
/// the machine about seven.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  broadleaf record gzip -9 -k big.txt                  writes gzip.bl, or gzip.1.bl if that exists
  broadleaf record -o cc.bl --follow-children -- gcc -O2 -c big.c
  broadleaf record -o server.bl -- redis-server        end the server as usual
  broadleaf record --skip 1G --for 20M --every 500M ./simulation    20 M accesses of each 500 M
  broadleaf record --measure 7 ./benchmark             with its run time, for seconds in `compare`
  broadleaf record --engine trap --machine 'single:entries=64,replacement=fifo' -- sort big.txt")]
pub(crate) struct RecordArgs {
    /// Write the trace to FILE [default: PROGRAM.bl, with a number if that exists]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Set the recording engine
    #[arg(long, value_name = "ENGINE", default_value = "valgrind")]
    pub(crate) engine: EngineChoice,

    /// With --engine trap, model the TLBs of MACHINE: a name, a file or a grid of one TLB. Their
    /// replacement rules must ignore hits: fifo, random or round-robin
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,

    /// With --engine trap, use base pages (4k) or pages of one size where they fit (fixed-SIZE)
    /// [default: 4k]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,

    /// With --engine trap, set how pages are closed
    #[arg(long, value_name = "MECHANISM")]
    pub(crate) mechanism: Option<TrapMechanism>,

    /// With --engine trap, set the form of the result [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<TableOrJson>,

    /// With --engine qemu-system, boot the guest of FOLDER (workloads/guest/build.py builds one)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) guest: Option<PathBuf>,

    /// With --engine qemu-system, set the guest's memory [default: 1g]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) guest_memory: Option<u64>,

    /// With --engine qemu-system, set the guest's processors, which run in turn [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) processors: Option<u32>,

    /// With --engine qemu-system, run the guest under this QEMU [default: that of PATH]
    #[arg(long, value_name = "FILE")]
    pub(crate) qemu: Option<PathBuf>,

    /// With --engine qemu-system, compare each translation with QEMU's own, which takes longer
    #[arg(long)]
    pub(crate) check: bool,

    /// Set the unit of a visit: pages are enough for page-size policies, lines make larger files
    #[arg(long, default_value = "page")]
    pub(crate) grain: Grain,

    /// Record the pages that instructions are fetched from as well
    #[arg(long)]
    pub(crate) instructions: bool,

    /// Record the code of executed blocks as well, for machines whose cores follow it
    #[arg(long)]
    pub(crate) code: bool,

    /// Record the processes that the command starts as well, each in its own address space
    #[arg(long)]
    pub(crate) follow_children: bool,

    /// Record the call stack of each allocation and mapping as well, so that `advise` names lines
    /// of the program's source
    #[arg(long)]
    pub(crate) sites: bool,

    /// Align each mapping to the largest of these page sizes that its object is as large as, and
    /// not as the kernel does: 64k,2m
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size_to_align_to)]
    pub(crate) align: Vec<PageSize>,

    /// Set the clock that the program sees [default: program; under QEMU, wall alone]
    #[arg(long, value_name = "CLOCK")]
    pub(crate) clock: Option<ClockName>,

    /// Set the instructions in a microsecond of the program's clock
    #[arg(long, value_name = "N", default_value_t = Clock::RATE,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) clock_rate: u32,

    /// Record nothing of the first N accesses, instructions or seconds: 1G, '500M instructions', 2s
    #[arg(long, value_name = "N")]
    pub(crate) skip: Option<WindowStretch>,

    /// Record a window of N accesses, instructions or seconds [default: to the end]
    ///
    /// Outside windows the recorder keeps the changes of mappings, and the pages that became
    /// resident, and costs little more than Valgrind alone. Counts of `compare` are then estimates
    /// with confidence intervals.
    #[arg(long, value_name = "N")]
    pub(crate) r#for: Option<WindowStretch>,

    /// Begin a window every N accesses, instructions or seconds [default: one window]
    #[arg(long, value_name = "N")]
    pub(crate) every: Option<WindowStretch>,

    /// Refused, with the reason: no engine can record a program that runs already
    #[arg(long, value_name = "PID")]
    pub(crate) attach: Option<u32>,

    /// Measure the run time first, without the recorder: run the command N times with 4 KiB pages
    /// and N times with huge pages wherever they fit, in turns, after one round that is dropped
    ///
    /// The trace holds the times, and `compare` gives seconds for every policy. Each run reads a
    /// file on standard input, but no pipe. Standard output is thrown away. Switches by which the
    /// command forbids huge pages to itself have no effect. 7 rounds of a second or more show
    /// differences of a few percent. The runs with huge pages need what `run` needs.
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub(crate) measure: Option<NonZero<u32>>,

    /// Replace FILE when the new trace is whole; until then, the new trace is in FILE with
    /// .unfinished before its ending
    #[arg(long)]
    pub(crate) force: bool,

    /// The command and its arguments; `--` before it is optional. Everything after the command's
    /// name belongs to the command
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "attach",
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<OsString>,
}

/// The clock that a recorded program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockName {
    /// Elapsed and processor time follow the instructions that the program executes; the date is
    /// real
    Program,
    /// The date follows the instructions as well
    Date,
    /// All clocks are real: the program seems to run many times slower
    Wall,
}

impl RecordArgs {
    /// Refuses options that the engine has not.
    ///
    /// # Errors
    /// [`Failure::Wrong`] with the option.
    pub(crate) fn check_engine(&self) -> Result<(), Failure> {
        if let Some(pid) = self.attach {
            return Err(cannot_attach(pid));
        }
        let engine = self.engine.to_possible_value();
        refuse_options(
            engine.as_ref().map_or("", |engine| engine.get_name()),
            &[
                ("--machine", self.machine.is_some()),
                ("--policy", self.policy.is_some()),
                ("--mechanism", self.mechanism.is_some()),
                ("--format", self.format.is_some()),
                ("--guest", self.guest.is_some()),
                ("--guest-memory", self.guest_memory.is_some()),
                ("--processors", self.processors.is_some()),
                ("--qemu", self.qemu.is_some()),
                ("--check", self.check),
                ("--code", self.code),
                ("--sites", self.sites),
                ("--align", !self.align.is_empty()),
                ("--clock program", self.clock == Some(ClockName::Program)),
                ("--clock date", self.clock == Some(ClockName::Date)),
                ("--clock-rate", self.clock_rate != Clock::RATE),
                ("--skip", self.skip.is_some()),
                ("--for", self.r#for.is_some()),
                ("--every", self.every.is_some()),
                ("--measure", self.measure.is_some()),
                ("--grain line", self.grain != Grain::Page),
                ("--instructions", self.instructions),
                ("--follow-children", self.follow_children),
            ],
        )
    }

    /// The guest that is recorded.
    pub(crate) fn machine(&self) -> Option<GuestMachine> {
        Some(GuestMachine {
            folder: self.guest.clone()?,
            qemu: self.qemu.clone(),
            memory: self.guest_memory.unwrap_or(1 << 30),
            processors: self.processors.unwrap_or(1),
            check: self.check,
            files: Vec::new(),
            keeps_console: false,
        })
    }

    /// The clock that the program sees.
    pub(crate) const fn clock(&self) -> Clock {
        match self.clock {
            None | Some(ClockName::Program) => Clock::Program(self.clock_rate),
            Some(ClockName::Date) => Clock::Date(self.clock_rate),
            Some(ClockName::Wall) => Clock::Wall,
        }
    }
}

/// The recorders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// Broadleaf's tool for the distribution's Valgrind
    Valgrind,
    /// Broadleaf's plugin for the distribution's QEMU (qemu-user): programs of x86-64 and AArch64,
    /// which see the real clock
    Qemu,
    /// Broadleaf's plugin for the distribution's QEMU (qemu-system-x86): a guest's kernel with all
    /// of its processes, while the guest runs the command
    QemuSystem,
    /// No trace: the TLB misses of data references are counted while the program runs. Each traps;
    /// between them, the program runs at its own speed
    Trap,
}

impl From<EngineChoice> for valgrind::Engine {
    fn from(engine: EngineChoice) -> Self {
        match engine {
            EngineChoice::Qemu => Self::Qemu,
            EngineChoice::QemuSystem => Self::QemuSystem,
            EngineChoice::Valgrind | EngineChoice::Trap => Self::Valgrind,
        }
    }
}

/// How the trap engine closes pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrapMechanism {
    /// userfaultfd if the kernel allows it, otherwise protection
    Auto,
    /// Minor faults of userfaultfd: the quicker one
    Userfaultfd,
    /// Page protection and SIGSEGV: works everywhere
    Protection,
}

impl From<TrapMechanism> for Option<Mechanism> {
    fn from(mechanism: TrapMechanism) -> Self {
        match mechanism {
            TrapMechanism::Auto => None,
            TrapMechanism::Userfaultfd => Some(Mechanism::Userfaultfd),
            TrapMechanism::Protection => Some(Mechanism::Protection),
        }
    }
}

/// The unit in which a trace names addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grain {
    /// 4 KiB pages
    Page,
    /// 64-byte lines
    Line,
}

impl From<Grain> for broadleaf_trace::Grain {
    fn from(grain: Grain) -> Self {
        match grain {
            Grain::Page => Self::Page,
            Grain::Line => Self::Line,
        }
    }
}
