//! Traces with a plain list of their references, and the steps that such a list comes to.

use broadleaf_model::{
    Items, Source, SourcePart, SourcePiece, Step, StepOrigin, StepsWanted, VisitStep,
};
use broadleaf_trace::synth::SplitMix64;
use broadleaf_trace::{
    DataAccess, Encoder, Event, Fold, Grain, Header, Item, Options, TraceReader,
};
use broadleaf_units::{CoreId, LineNumber, PageNumber, SpaceId, ThreadId, VirtAddr};
use std::collections::BTreeMap;

/// An access, or the rest of one in a further unit, with all that a recorder would see.
#[derive(Clone, Copy)]
pub(crate) struct NaiveReference {
    /// References with equal numbers have no event and no fetch between them.
    stretch: u64,
    pub(crate) space: SpaceId,
    pub(crate) thread: ThreadId,
    pub(crate) core: Option<CoreId>,
    pub(crate) instruction: u64,
    pub(crate) address: u64,
    store: bool,
    pub(crate) leads: bool,
}

/// A trace, and the plain list of its references.
pub(crate) struct NaiveTrace {
    pub(crate) items: Items,
    pub(crate) references: Vec<NaiveReference>,
}

/// A trace of two address spaces with three threads each, which take turns on four cores.
pub(crate) fn naive_trace(seed: u64, grain: Grain, fetches: bool) -> NaiveTrace {
    let mut random = SplitMix64::new(seed);
    let mut items = Items::new(grain);
    let mut references = Vec::new();
    let mut fold = Fold::new(grain);
    let mut known: BTreeMap<SpaceId, BTreeMap<ThreadId, Option<CoreId>>> = BTreeMap::new();
    let mut stretch = 0;
    let unit = 1 << grain.shift();
    for _ in 0..60 {
        let mut visits = Vec::new();
        fold.cut(&mut visits);
        items.visits(visits);
        stretch += 1;
        let space = SpaceId(random.below(2) as u32);
        let thread = ThreadId(1 + random.below(3) as u32);
        items.event(Event::SpaceSwitch(space));
        let threads = known.entry(space).or_insert_with(|| {
            items.event(Event::SpaceStart {
                pid: 100 + space.0,
                parent: 1,
                command: Vec::new(),
            });
            BTreeMap::new()
        });
        items.event(Event::ThreadSwitch(thread));
        let core = threads.entry(thread).or_default();
        if random.below(3) == 0 {
            *core = Some(CoreId(random.below(4) as u32));
            items.event(Event::CoreSwitch(core.expect("it was set")));
        }
        let mut visits = Vec::new();
        for _ in 0..random.below(40) {
            let instruction = 0x40_0000 + random.below(0x5000);
            if fetches {
                fold.fetch(instruction, &mut visits);
                stretch += 1;
            } else {
                fold.instruction();
            }
            for _ in 0..random.below(5) {
                let page = 0x10_0000 + (random.below(6) << 12);
                let address = page + [0, 64, 68, 4092][random.below(4) as usize];
                let last = address + [1, 8, 130][random.below(3) as usize] - 1;
                let store = random.below(3) == 0;
                let access = match store {
                    true => DataAccess::Store,
                    false => DataAccess::Load,
                };
                fold.access(access, address, last, &mut visits);
                let first = NaiveReference {
                    stretch,
                    space,
                    thread,
                    core: *core,
                    instruction,
                    address,
                    store,
                    leads: false,
                };
                references.push(first);
                let mut further = (address & !(unit - 1)) + unit;
                while further <= last {
                    references.push(NaiveReference {
                        address: further,
                        leads: true,
                        ..first
                    });
                    further += unit;
                }
            }
        }
        items.visits(visits);
    }
    let mut visits = Vec::new();
    fold.finish(&mut visits);
    items.visits(visits);
    NaiveTrace { items, references }
}

impl NaiveTrace {
    /// The trace in version 1.
    pub(crate) fn encoded(&self, fetches: bool) -> Vec<u8> {
        let header = Header {
            options: Options {
                instruction_counts: true,
                instruction_pages: fetches,
                events: true,
                children: true,
                system: false,
                kernel_events: false,
                code: false,
            },
            ..Header::new(self.items.grain())
        };
        let mut encoder = Encoder::new(Vec::new(), &header).expect("a head");
        let mut items = self.items.clone();
        while let Ok(Some(mut part)) = items.next_part() {
            while let Ok(Some(piece)) = part.next() {
                let written = match piece {
                    SourcePiece::Visits(visits) => encoder.visits(visits),
                    SourcePiece::Event(event) => encoder.event(event),
                    other => panic!("{other:?} in plain items"),
                };
                written.expect("a trace can hold it");
            }
        }
        encoder.finish().expect("an end")
    }
}

/// The items of a trace in version 1.
pub(crate) fn decoded(bytes: &[u8]) -> Items {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let mut items = Items::new(reader.header().grain);
    while let Some(item) = reader.next_item().expect("a whole trace") {
        match item {
            Item::Visits(visits) => items.visits(visits.iter().copied()),
            Item::Event(event) => items.event(event.clone()),
        };
    }
    items
}

/// The references in runs: equal units, nothing else between them.
pub(crate) fn runs(references: &[NaiveReference], grain: Grain) -> Vec<&[NaiveReference]> {
    let unit = |reference: &NaiveReference| reference.address >> grain.shift();
    let is_one_run = |a: &NaiveReference, b: &NaiveReference| {
        a.stretch == b.stretch && unit(a) == unit(b) && !b.leads
    };
    references.chunk_by(is_one_run).collect()
}

/// The steps that the naive list comes to.
pub(crate) fn expected(
    naive: &NaiveTrace,
    grain: Grain,
    fetches: bool,
    wanted: StepsWanted,
) -> Vec<Step> {
    let mut time = 0;
    let mut steps = Vec::new();
    for run in runs(&naive.references, grain) {
        let access = |reference: &NaiveReference| VisitStep {
            continues: false,
            page: PageNumber(reference.address >> 12),
            time,
            loads_before_store: 0,
            more_stores: 0,
            loads_after_stores: 0,
            accesses: !reference.leads,
            stores: !reference.leads && reference.store,
            leads: reference.leads,
            leads_with_store: reference.leads && reference.store,
            fetches: false,
        };
        let step = |visit: VisitStep, reference: &NaiveReference| Step {
            visit,
            origin: StepOrigin {
                space: reference.space,
                thread: Some(reference.thread),
                core: reference.core,
                ip: fetches.then_some(VirtAddr(
                    reference.instruction >> grain.shift() << grain.shift(),
                )),
                line: (grain == Grain::Line).then_some(LineNumber(reference.address >> 6)),
            },
        };
        let own: Vec<&NaiveReference> = run.iter().filter(|of| !of.leads).collect();
        let first_store = own.iter().position(|of| of.store).unwrap_or(own.len());
        let stores = own.iter().filter(|of| of.store);
        if wanted == StepsWanted::EachVisit {
            let visit = VisitStep {
                loads_before_store: first_store as u32,
                more_stores: (stores.count() as u32).saturating_sub(1),
                loads_after_stores: own[first_store..].iter().filter(|of| !of.store).count() as u32,
                accesses: !own.is_empty(),
                stores: first_store < own.len(),
                ..access(&run[0])
            };
            steps.push(step(visit, &run[0]));
        } else {
            let leads = run.iter().filter(|of| of.leads);
            steps.extend(leads.map(|of| step(access(of), of)));
            // A trace keeps no order after the first store: stores come first.
            let (loads, rest) = own.split_at(first_store);
            let rest_loads = rest.iter().filter(|of| !of.store);
            let stores = rest.iter().filter(|of| of.store);
            let in_order = loads.iter().chain(stores).chain(rest_loads);
            let in_order = in_order.zip(time..);
            steps.extend(in_order.map(|(of, time)| {
                let access = VisitStep { time, ..access(of) };
                step(access, of)
            }));
        }
        time += own.len() as u64;
    }
    steps
}
