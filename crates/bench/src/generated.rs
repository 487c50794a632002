//! Generated traces, which are equal on every machine.
//!
//! The traces have no events, so every block counts as mapped anonymous memory.

use broadleaf_trace::synth::{self, SplitMix64};
use broadleaf_trace::{Encoder, Grain, Header, Visit, WriteError};
use std::io::Write;

/// A generated trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// Updates of random words in 4 GiB, with a load and a store each (GUPS). Nearly every lookup
    /// of a base page misses.
    Gups,
    /// Four passes over 512 MiB, word after word. Nearly no lookup misses.
    Scan,
    /// Pages of 1 GiB by Zipf's law, with one to seven accesses each, of which some are stores.
    /// Some lookups miss.
    Zipf,
}

/// The number of pages that `Gups` updates.
pub const GUPS_PAGES: u64 = 1 << 20;
/// The number of its updates.
pub const GUPS_UPDATES: u64 = 1 << 23;
const SCAN_PAGES: u64 = 1 << 17;
const WORDS_IN_A_PAGE: u32 = 512;
const ZIPF_PAGES: u64 = 1 << 18;
const ZIPF_RUNS: u64 = 1 << 22;
/// The seed of the generators. A change of the seed moves every stored count.
const SEED: u64 = 20_181_018;

impl Generated {
    /// All generated traces.
    pub const ALL: [Self; 3] = [Self::Gups, Self::Scan, Self::Zipf];

    /// Returns its name in results and in `counts.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gups => "gups",
            Self::Scan => "scan",
            Self::Zipf => "zipf",
        }
    }

    /// Returns its visits, in page grain.
    pub fn visits(self) -> Box<dyn Iterator<Item = Visit>> {
        match self {
            Self::Gups => Box::new(synth::updates(0, GUPS_PAGES, GUPS_UPDATES, SEED)),
            Self::Scan => Box::new(synth::sequential(0, SCAN_PAGES, WORDS_IN_A_PAGE, 4)),
            Self::Zipf => Box::new(runs(synth::zipf(0, ZIPF_PAGES, ZIPF_RUNS, SEED))),
        }
    }

    /// Writes the trace.
    ///
    /// # Errors
    /// Returns the errors of `to`.
    pub fn write<W: Write>(self, to: W) -> Result<W, WriteError> {
        encode(to, self.visits())
    }
}

/// Writes a short trace like [`Generated::Zipf`] over 64 MiB, for tools that slow a program down.
/// It has about half a million accesses.
///
/// # Errors
/// Returns the errors of `to`.
pub fn short<W: Write>(to: W) -> Result<W, WriteError> {
    encode(to, runs(synth::zipf(0, 1 << 14, 1 << 17, SEED)))
}

/// Writes visits in page grain as a trace.
///
/// # Errors
/// Returns an error if `to` fails or a visit is invalid.
pub fn encode<W: Write>(to: W, visits: impl Iterator<Item = Visit>) -> Result<W, WriteError> {
    let mut encoder = Encoder::new(to, &Header::new(Grain::Page))?;
    let mut batch = Vec::with_capacity(BATCH);
    for visit in visits {
        batch.push(visit);
        if batch.len() == BATCH {
            encoder.visits(&batch)?;
            batch.clear();
        }
    }
    encoder.visits(&batch)?;
    encoder.finish()
}

/// The number of visits that are written at a time.
const BATCH: usize = 4096;

/// Turns each visit into a run of one to seven accesses. One run in four ends with a store.
fn runs(visits: impl Iterator<Item = Visit>) -> impl Iterator<Item = Visit> {
    let mut random = SplitMix64::new(SEED + 1);
    visits.map(move |visit| {
        let length = 1 + random.below(7) as u32;
        let stores = u32::from(random.below(4) == 0);
        Visit {
            loads: length - stores,
            stores,
            loads_before_store: length - stores,
            ..visit
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_one_to_seven() {
        let mut lengths = [0u32; 8];
        let mut stores = 0;
        for visit in runs(synth::zipf(0, 100, 70_000, 1)) {
            lengths[visit.accesses() as usize] += 1;
            stores += visit.stores;
        }
        assert_eq!(lengths[0], 0);
        assert!(
            lengths[1..]
                .iter()
                .all(|count| count.abs_diff(10_000) < 500),
            "{lengths:?}"
        );
        assert!(stores.abs_diff(17_500) < 500, "{stores}");
    }

    #[test]
    fn what_is_written_is_what_was_made() {
        let visits: Vec<Visit> = runs(synth::zipf(0, 100, 10_000, 1)).collect();
        let bytes = encode(Vec::new(), visits.iter().copied()).expect("a trace");
        let seen = crate::walk::walk(bytes.as_slice()).expect("a trace");
        assert_eq!(
            seen.accesses,
            visits.iter().map(Visit::accesses).sum::<u64>()
        );
    }
}
