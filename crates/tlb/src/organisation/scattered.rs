//! Scattered superpages: entries with a configuration, from which the physical address follows.

use super::set_associative::SetAssociative;
use super::set_indices::SetIndices;
use super::{Entries, EntryLookup, EntryShape, Organisation};
use crate::{
    Field, OrganisationChoice, ReplacementState, Structure, StructureParameter, SystemSupport,
    TlbLog, TlbRequest, Translation, Walk,
};
use broadleaf_units::{ColourRegions, Described, PageNumber, PageSize, configuration_bits};
use std::num::NonZeroU8;

/// The parameter that says what has a configuration of its own.
const CONFIGURATION: &str = "configuration";
/// The parameter for the number of colour regions of a superpage.
const REGIONS: &str = "regions";
/// The parameter for the lowest address bit of a region's number.
const REGION_BIT: &str = "region-bit";
/// The size of pages that can be scattered.
const SCATTERED_SIZE: PageSize = PageSize::SIZE_2M;
/// The value of [`CONFIGURATION`] with a configuration for each set.
const SET: &str = "set";

pub(super) static SCATTERED: Organisation = Organisation {
    described: Described {
        name: "scattered",
        summary: "sets of ways for superpages that lie in a share of several physical superpages",
        explanation: "An entry holds the number of the first physical superpage and the colour \
                      regions that the page has in each: five bits for eight regions. The \
                      physical address is a function of the entry, and no concatenation. With a \
                      configuration in each entry (configuration = \"entry\"), the addition takes \
                      a cycle at each reference to a scattered superpage (scatter_cycles). With \
                      one for each set (\"set\"), it takes none, and pages of different shares \
                      never lie in one set: a load with another configuration drops the others. \
                      Pages of other sizes have no configuration.",
        source: "Chen 2014, section III",
    },
    parameters: &[
        StructureParameter::word(
            CONFIGURATION,
            &["entry", SET],
            "what has a configuration of its own: each entry or each set",
        ),
        StructureParameter::word(
            REGIONS,
            &["8", "2", "4", "16", "32", "64"],
            "the number of colour regions of a physical superpage",
        ),
        StructureParameter::number(
            REGION_BIT,
            (12, 20),
            15,
            "the lowest address bit of a region's number",
        ),
    ],
    refuses,
    build: |structure| Box::new(Scattered::new(structure)),
    wants_tables: |_| true,
    keeps_pages: |_| false,
    counts_uses: |structure| !is_per_set(structure),
    grids: &[],
    block_of: None,
    entry: EntryShape::one_page,
    support: Some(SystemSupport::SCATTERED),
};

fn refuses(structure: &Structure) -> Option<(Field, String)> {
    let usual = OrganisationChoice::from(&SCATTERED);
    if structure.index(SCATTERED_SIZE).is_none() && structure.organisation != usual {
        let why = "parameters of organisation scattered concern pages of 2m: give index 2m";
        return Some((Field::Organisation, why.to_string()));
    }
    if !structure.walk_entries.is_empty() {
        let why = "organisation scattered holds no walk entries";
        return Some((Field::WalkEntries, why.to_string()));
    }
    match regions(structure) {
        Some(_) => None,
        None => Some((
            Field::Parameter(REGION_BIT),
            format!(
                "{} colour regions do not fit into the bits from {REGION_BIT} to the end of a \
                 superpage, bit 20",
                structure.organisation.word(REGIONS)
            ),
        )),
    }
}

fn is_per_set(structure: &Structure) -> bool {
    structure.organisation.word(CONFIGURATION) == SET
}

fn regions(structure: &Structure) -> Option<ColourRegions> {
    let count = structure.organisation.word(REGIONS).parse().ok()?;
    let low_bit = u8::try_from(structure.organisation.number(REGION_BIT)?).ok()?;
    ColourRegions::new(PageSize::SIZE_2M, count, low_bit).ok()
}

impl Structure {
    /// The colour regions of the superpages that the structure translates. `None` if it translates
    /// no scattered superpages.
    pub fn colour_regions(&self) -> Option<ColourRegions> {
        let translates =
            Organisation::is_scattered(&self.organisation) && self.index(SCATTERED_SIZE).is_some();
        match translates {
            true => regions(self),
            false => None,
        }
    }

    /// The bits of each entry that hold the configuration of a scattered superpage. 0 if the sets
    /// have the configurations, in registers beside the entries.
    pub fn configuration_bits_of_entry(&self) -> u32 {
        let regions = self.colour_regions().filter(|_| !is_per_set(self));
        regions.map_or(0, configuration_bits)
    }

    /// The bits of storage that configurations of scattered superpages take: for each entry or for
    /// each set (Chen 2014, section III.C).
    pub fn configuration_bits(&self) -> Option<u64> {
        let each = u64::from(configuration_bits(self.colour_regions()?));
        let places = match is_per_set(self) {
            true => self.sets(),
            false => self.entries,
        };
        Some(each * places as u64)
    }
}

impl Organisation {
    /// Returns true if this is the organisation for scattered superpages.
    fn is_scattered(of: &crate::OrganisationChoice) -> bool {
        of.entry().described.name == SCATTERED.described.name
    }
}

/// A structure for scattered superpages.
#[derive(Clone, Debug)]
struct Scattered {
    sets: SetAssociative,
    /// For each set the share of its entries, if a set has one configuration.
    of_sets: Option<SetConfigurations>,
    level: usize,
    /// True if the last page that was found or loaded is a scattered superpage.
    last: bool,
}

/// The configuration of each set.
#[derive(Clone, Debug)]
struct SetConfigurations {
    indices: SetIndices,
    shares: Vec<Option<NonZeroU8>>,
}

impl Scattered {
    fn new(structure: &Structure) -> Self {
        let of_sets = is_per_set(structure).then(|| SetConfigurations {
            indices: SetIndices::new(structure),
            shares: vec![None; structure.sets()],
        });
        Self {
            sets: SetAssociative::new(structure),
            of_sets,
            level: structure.level,
            last: false,
        }
    }

    /// Notes a reference that a translation serves. An addition of its own takes a cycle.
    fn refer(&mut self, translation: &Translation, log: &mut TlbLog) {
        self.last = translation.share.is_some();
        let adds = self.last && self.of_sets.is_none();
        log.counts.scatter_cycles += u64::from(adds);
    }

    /// Gives the set of a superpage its configuration. Entries of another one leave.
    fn configure(&mut self, request: &TlbRequest, new: &Translation, log: &mut TlbLog) {
        let Some(of_sets) = self.of_sets.as_mut().filter(|_| new.size == SCATTERED_SIZE) else {
            return;
        };
        let Some(set) = of_sets.indices.set_of(request, new.size) else {
            return;
        };
        let share = std::mem::replace(&mut of_sets.shares[set], new.share);
        if share != new.share {
            log.evicted.extend(self.sets.empty(set, SCATTERED_SIZE));
        }
    }
}

impl Entries for Scattered {
    fn find(&mut self, request: &TlbRequest, size: PageSize, log: &mut TlbLog) -> EntryLookup {
        let found = self.sets.find(request, size, log);
        if let EntryLookup::Hit(translation) = &found {
            self.refer(translation, log);
        }
        found
    }

    fn load(&mut self, walk: &Walk<'_>, log: &mut TlbLog) {
        self.configure(&walk.request, &walk.translation, log);
        self.sets.load(walk, log);
        // The reference that missed begins again, and finds the entry at the first level.
        if self.level == 1 {
            self.refer(&walk.translation, log);
        }
    }

    fn receive(
        &mut self,
        request: &TlbRequest,
        translation: &Translation,
        _: &[Translation],
        log: &mut TlbLog,
    ) {
        self.configure(request, translation, log);
        self.sets.load(&Walk::alone(*request, *translation), log);
        // The other structure's hit served the reference.
        self.last = translation.share.is_some();
    }

    fn repeat(&mut self, times: u64, log: &mut TlbLog) {
        if self.last && self.of_sets.is_none() {
            log.counts.scatter_cycles += times;
        }
        self.sets.repeat(times, log);
    }

    fn mark(&mut self, translation: &Translation, log: &mut TlbLog) {
        self.sets.mark(translation, log);
    }

    fn holds(&self, translation: &Translation) -> bool {
        self.sets.holds(translation)
    }

    fn drop_stale(&mut self, stale: &mut dyn FnMut(&Translation) -> bool, log: &mut TlbLog) {
        self.sets.drop_stale(stale, log);
    }

    fn replacement(&self) -> Option<&ReplacementState> {
        self.sets.replacement()
    }

    fn replacement_mut(&mut self) -> Option<&mut ReplacementState> {
        self.sets.replacement_mut()
    }

    fn quiet_epoch(&self) -> Option<u64> {
        // Each reference to a scattered superpage counts a cycle.
        match self.of_sets {
            Some(_) => self.sets.quiet_epoch(),
            None => None,
        }
    }

    fn disturbed(&self, page: PageNumber, size: PageSize) -> (u64, u64) {
        match self.of_sets {
            // A load may empty the set.
            Some(_) => (0, u64::MAX),
            None => self.sets.disturbed(page, size),
        }
    }

    fn occupied(&self) -> usize {
        self.sets.occupied()
    }

    fn check(&self) {
        self.sets.check();
        let Some(of_sets) = &self.of_sets else {
            return;
        };
        for (set, share) in of_sets.shares.iter().enumerate() {
            let entries = self.sets.entries_of(set).iter().flatten();
            let mut entries = entries.filter(|entry| entry.size == SCATTERED_SIZE);
            assert!(
                entries.all(|entry| entry.share == *share),
                "a set with two configurations"
            );
        }
    }

    fn copy(&self) -> Box<dyn Entries> {
        Box::new(self.clone())
    }
}
