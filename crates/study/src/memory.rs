//! The memory of a comparison: from a request to limits.

use std::path::{Path, PathBuf};

use broadleaf_metrics::MemoryAsked;
use broadleaf_model::{
    ALLOCATORS, Allocator, Buddyinfo, Costs, Files, MemoryLimits, Pagetypeinfo, Start,
};
use broadleaf_report::number::size;
use broadleaf_units::PageSize;

use crate::cache::{CachedPass, TraceCache};
use crate::failure::Failure;
use crate::output::shown;
use crate::source::TraceReading;
use crate::source::origin::PassCount;
use crate::source::shared::SharedReader;
use crate::watch::Watch;
use crate::{costs, in_file, names};

mod sized;

/// The maximum size of modelled memory, in bytes: far more than any machine has.
const MOST: u64 = 1_000_000_000_000_000;

/// A request for the frame-level model: the amount of memory and its initial state.
#[derive(Clone, Debug)]
pub struct MemoryRequest {
    /// The amount of memory; `None` without the frame-level model.
    pub memory: Option<Amount>,
    /// Traces of programs that ran before in the same memory.
    pub after: Vec<PathBuf>,
    /// The share of memory that is occupied at first, from 0 to 1.
    pub occupied: f64,
    /// The share of free memory in free blocks of 2 MiB, from 0 to 1.
    pub fragmentation: Option<f64>,
    /// A recorded `/proc/pagetypeinfo`, from which memory begins.
    pub pagetypeinfo: Option<PathBuf>,
    /// A recorded `/proc/buddyinfo`, from which memory begins.
    pub buddyinfo: Option<PathBuf>,
    /// The share of occupied memory that the kernel can move, from 0 to 1.
    pub movable: f64,
    /// The seed of the places of occupied memory.
    pub seed: u64,
    /// The size of the swap; `None` for the default.
    pub swap: Option<Amount>,
    /// Holds the pages of instructions too.
    pub code: bool,
    /// The place of file pages before their first use.
    pub files: Files,
    /// The rule that chooses frames.
    pub allocator: &'static Allocator,
    /// The share of memory, from 0 to 1, for superpages; `None` for the default. Only an allocator
    /// that divides memory has one.
    pub pools: Option<f64>,
    /// The program's accesses per second.
    pub rate: u64,
    /// Event costs in cycles; `None` for the defaults.
    pub costs: Option<Costs>,
    /// The option that asks for this memory, if memory is without limit since no size was given.
    pub implied_by: Option<&'static str>,
}

impl MemoryRequest {
    /// A request for memory that never runs short.
    pub fn unlimited() -> Self {
        let usual = MemoryLimits::none();
        Self {
            memory: Some(Amount::Unlimited),
            after: Vec::new(),
            occupied: 0.0,
            fragmentation: None,
            pagetypeinfo: None,
            buddyinfo: None,
            movable: 0.5,
            seed: 1,
            swap: None,
            code: usual.code,
            files: usual.files,
            allocator: usual.allocator,
            pools: None,
            rate: usual.rate,
            costs: None,
            implied_by: None,
        }
    }
}

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Unlimited memory.
    Unlimited,
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of the program's peak memory with base pages.
    Percent(f64),
}

impl std::str::FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        if let Some(number) = text.strip_suffix('%') {
            let percent: f64 = number.parse().map_err(|_| {
                format!(
                    "{number:?} is no number of percent: write 25%, a size as 512M, or unlimited"
                )
            })?;
            if !(percent > 0.0 && percent <= 1e6) {
                return Err("a percentage is more than 0 and at most 1000000".into());
            }
            return Ok(Self::Percent(percent));
        }
        let bytes = broadleaf_units::size(text).filter(|bytes| *bytes <= MOST);
        let bytes = bytes.ok_or_else(|| {
            format!("{text:?} is no size: write it as 512M, 1.5G, 25% or unlimited")
        })?;
        if bytes == 0 && text.parse::<f64>().is_ok_and(|number| number > 0.0) {
            return Err(format!("{text} is less than a byte: write 512M or 75%"));
        }
        if broadleaf_units::lacks_unit(text, bytes) {
            return Err(format!("{text} bytes hold no page; did you mean {text}%?"));
        }
        Ok(Self::Bytes(bytes))
    }
}

/// Reads the size of a swap: an [`Amount`], which may be zero.
///
/// # Errors
/// Those of [`Amount`].
pub fn swap(text: &str) -> Result<Amount, String> {
    match text.strip_suffix('%').map(str::parse) {
        Some(Ok(0.0)) => Ok(Amount::Bytes(0)),
        _ => text.parse(),
    }
}

/// Reads a share: `30%` or `0.3`.
///
/// # Errors
/// If the text is no number from 0 to 1 and no percentage up to 100.
pub fn part(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let part = number.parse::<f64>().map(|number| number / whole);
    part.ok()
        .filter(|part| (0.0..=1.0).contains(part))
        .ok_or_else(|| format!("{text:?} is no part of a whole: write it as 30% or 0.3"))
}

/// Reads the name of an allocator.
///
/// # Errors
/// If no allocator has the name. The error lists all names.
pub fn allocator(text: &str) -> Result<&'static Allocator, String> {
    Allocator::named(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = ALLOCATORS.iter().map(|one| one.described.name).collect();
        format!(
            "no allocator is called {text:?}: the allocators are {} (`broadleaf list allocators`)",
            names.join(", ")
        )
    })
}

/// Reads accesses per second: `1e9/s`, `250000000` or `2.5e8/s`.
///
/// # Errors
/// If the text is no number from 1 to 1e15.
pub fn rate(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    let rate = number.parse::<f64>().ok();
    let rate = rate.filter(|rate| (1.0..=1e15).contains(rate));
    rate.map(|rate| rate.round() as u64).ok_or_else(|| {
        format!("{text:?} is no rate: write accesses per second from 1 to 1e15, as 1e9/s or 2.5e8")
    })
}

/// Returns the limits of a request, and the program's footprint if they depend on it; `None`
/// without the frame-level model. `footprint` measures the peak memory with base pages, in bytes.
///
/// # Errors
/// If the trace or a file of free memory cannot be read, or if the limits contradict each other.
pub fn limits(
    asked: &MemoryRequest,
    trace: &Path,
    footprint: impl FnOnce() -> Result<u64, Failure>,
) -> Result<Option<(MemoryLimits, Option<u64>)>, Failure> {
    if asked.memory.is_none() && asked.pagetypeinfo.is_none() {
        return Ok(None);
    }
    let start = start(asked)?;
    let amount = match asked.memory {
        Some(amount) => amount,
        None => Amount::Bytes(recorded_size(&start)?),
    };
    if amount == Amount::Unlimited && says_how_it_begins(asked) {
        return Err(Failure::wrong(
            "unlimited memory has no part that could be occupied: give a size with --occupied, \
             --fragmentation, --buddyinfo and --pagetypeinfo",
        ));
    }
    if matches!(amount, Amount::Percent(_)) && trace == Path::new("-") {
        return Err(Failure::wrong(
            "a percentage of the footprint needs a second reading, and standard input can be read \
             only once: give a file or a size",
        ));
    }
    let mut held = None;
    let mut limits = match amount {
        Amount::Unlimited => MemoryLimits::none(),
        Amount::Bytes(bytes) => MemoryLimits::new(bytes),
        Amount::Percent(percent) => {
            let footprint = *held.insert(footprint()?);
            MemoryLimits::new((footprint as f64 * percent / 100.0).ceil() as u64)
        }
    };
    limits.start = start;
    if let Some(swap) = asked.swap {
        limits.swap = match swap {
            Amount::Unlimited => limits.swap,
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (limits.memory as f64 * percent / 100.0) as u64,
        };
    }
    limits.code = asked.code;
    limits.rate = asked.rate;
    limits.files = asked.files;
    limits.costs = asked.costs.unwrap_or_default();
    limits.allocator = asked.allocator;
    if let Some(share) = asked.pools {
        if !asked.allocator.divides {
            return Err(Failure::wrong(format!(
                "--pools is the share of superpages in divided memory, and {} does not divide it: \
                 add --allocator pools",
                asked.allocator.described.name
            )));
        }
        limits.pools = share;
    }
    Ok(Some((limits, held)))
}

/// The size of the machine that a `/proc/pagetypeinfo` comes from, in bytes.
fn recorded_size(start: &Start) -> Result<u64, Failure> {
    let pages = match start {
        Start::RecordedByType { types, .. } => types.pages(),
        Start::Empty | Start::Grouped { .. } | Start::Recorded { .. } => 0,
    };
    match pages.saturating_mul(PageSize::SIZE_4K.bytes()) {
        0 => Err(Failure::wrong(
            "the file of --pagetypeinfo does not count pageblocks (`Number of blocks type ...`), \
             so the size of memory is unknown: give --memory SIZE",
        )),
        bytes => Ok(bytes.min(MOST)),
    }
}

/// A note that names the source of the size of memory, if `--memory` is not given.
pub(crate) fn size_note(asked: &MemoryRequest, limits: &MemoryLimits) -> Option<String> {
    if let Some(option) = asked.implied_by {
        return Some(format!(
            "{option} asks for memory that is modelled down to the frame, and gives no size: \
             memory is without limit (--memory limits it)"
        ));
    }
    let file = asked
        .pagetypeinfo
        .as_ref()
        .filter(|_| asked.memory.is_none())?;
    Some(format!(
        "memory is {}, the total of the pageblocks in the file \"{}\"; --memory sets another size",
        size(limits.memory),
        shown(file)
    ))
}

/// Returns true if an argument asks for memory that is not empty at first.
fn says_how_it_begins(asked: &MemoryRequest) -> bool {
    let files = [&asked.buddyinfo, &asked.pagetypeinfo];
    asked.occupied > 0.0 || asked.fragmentation.is_some() || files.iter().any(|it| it.is_some())
}

/// Converts limits into their form in results.
pub fn asked(
    request: &MemoryRequest,
    limits: &MemoryLimits,
    footprint_bytes: Option<u64>,
) -> MemoryAsked {
    let unlimited = MemoryLimits::none();
    let (start, occupied, movable, seed) = match &limits.start {
        Start::Empty => ("empty", 0.0, 0.0, 0),
        Start::Grouped { .. } => ("grouped", request.occupied, request.movable, request.seed),
        Start::Recorded { .. } => ("recorded", 0.0, request.movable, request.seed),
        Start::RecordedByType { .. } => ("recorded by type", 0.0, 0.0, request.seed),
    };
    MemoryAsked {
        bytes: (limits.memory != unlimited.memory).then_some(limits.memory),
        footprint_bytes,
        swap_bytes: (limits.swap != unlimited.swap).then_some(limits.swap),
        files: match limits.files {
            Files::OnDisk => "disk",
            Files::InMemory => "memory",
        }
        .to_owned(),
        start: start.to_owned(),
        occupied,
        fragmentation: request.fragmentation,
        movable,
        seed,
        allocator: (limits.allocator != unlimited.allocator)
            .then(|| limits.allocator.described.name.to_owned()),
        pools: limits.allocator.divides.then_some(limits.pools),
        after: Vec::new(),
        accesses_per_second: limits.rate,
        costs: costs::by_name(&limits.costs),
        costs_changed: costs::changed(&limits.costs),
    }
}

fn start(asked: &MemoryRequest) -> Result<Start, Failure> {
    let (movable, seed) = (asked.movable, asked.seed);
    let free = match &asked.buddyinfo {
        Some(path) => Some(recorded(path, |text| {
            let info = Buddyinfo::parse(text).map_err(|error| error.to_string())?;
            info.free(None, None).map_err(|error| error.to_string())
        })?),
        None => None,
    };
    if let Some(path) = &asked.pagetypeinfo {
        let mut types = recorded(path, |text| {
            Pagetypeinfo::parse(text).map_err(|error| error.to_string())
        })?;
        if let Some(free) = free {
            types.matched_to(&free);
        }
        return Ok(Start::RecordedByType { types, seed });
    }
    if let Some(free) = free {
        return Ok(Start::Recorded {
            free,
            movable,
            seed,
        });
    }
    if !says_how_it_begins(asked) {
        return Ok(Start::Empty);
    }
    Ok(Start::Grouped {
        occupied: asked.occupied,
        fragmentation: asked.fragmentation,
        movable,
        seed,
    })
}

/// Reads and parses a file that was copied from `/proc`.
fn recorded<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Failure> {
    let text = in_file::read(path)?;
    parse(&text).map_err(|error| Failure::Wrong(format!("{}: {error}", shown(path))))
}

/// The peak memory of a program with base pages, in bytes. Reads what other replays decode from
/// `shared`, if it is given.
///
/// # Errors
/// If the trace cannot be read, or if the replay refuses the trace.
pub(crate) fn footprint(
    path: &Path,
    reading: &TraceReading,
    threads: usize,
    cache: Option<&TraceCache>,
    watch: &dyn Watch,
    shared: Option<SharedReader>,
) -> Result<u64, Failure> {
    let pass = CachedPass {
        path,
        reading: TraceReading {
            passes: PassCount::Several,
            ..*reading
        },
        machine: names::machine("skylake")?,
        threads,
        cache,
        doing: "measuring the footprint",
        watch,
    };
    let outcome = pass.run(shared)?;
    let peak = outcome
        .results
        .first()
        .map_or(0, |result| result.peak_resident_pages);
    Ok(peak * 4096)
}
