//! The beginnings that several mixes skip, without the visits that change no memory.
//!
//! A mix moves each program forward before it begins, and memory alone sees the skipped references.
//! Most of them change nothing: an earlier visit left their page settled. [`Beginning::of`] reads a
//! beginning once, and leaves a visit out only if, since the last event,
//!
//! - a visit referenced its page, and
//! - a visit stored to its page, if it stores itself.
//!
//! A visit that is left out changes nothing on two conditions: memory *unsettles* no page between
//! two events, and no daemon falls due. Memory unsettles a page if it acts again at a reference
//! that it left as it was. A mix checks the conditions at each kept visit. If one of them does not
//! hold, the mix begins again and passes every visit.

use crate::outcome::ReplayProgress;
use crate::{Error, Source, SourcePart, SourcePiece};
use broadleaf_memory::GEOMETRY;
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Event, Lead, Visit};
use std::ops::ControlFlow;

/// The greatest number of kept visits and events: some 300 MB.
const MOST_STEPS: usize = 1 << 21;

/// The pages whose last visit is known. A page shares its place with others.
const KNOWN_PAGES: usize = 1 << 16;

/// The visits that a program makes before a mix begins, without those that change no memory, and
/// where its trace goes on.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The instructions that are skipped.
    pub(crate) skipped: u64,
    pub(crate) steps: Vec<BeginningStep>,
    pub(crate) end: TracePosition,
}

/// A step of a program in its beginning.
#[derive(Clone, Debug)]
pub(crate) enum BeginningStep {
    /// A visit, and those after it that change nothing.
    Visit(Visit, PassedVisits),
    Event(Box<Event>),
}

/// Visits that change nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassedVisits {
    pub(crate) sums: Sums,
    /// The visits with references.
    pub(crate) references: u64,
}

/// A position between two visits of a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TracePosition {
    /// The parts before.
    pub(crate) parts: usize,
    /// The pieces of the part before.
    pub(crate) pieces: usize,
    /// The visits of the piece before.
    pub(crate) visits: usize,
}

impl Beginning {
    /// Reads the first `skipped` instructions of a source, and rewinds it. Returns `None` if the
    /// source is shorter, or if too many visits would be kept: mixes then pass every visit.
    ///
    /// # Errors
    /// Returns an error if the source fails, or if `progress` stops.
    pub fn of<S: Source>(
        source: &mut S,
        skipped: u64,
        progress: &mut dyn FnMut(ReplayProgress) -> ControlFlow<()>,
    ) -> Result<Option<Self>, Error<S::Error>> {
        let shift = u32::from(GEOMETRY.base().shift() - source.grain().shift());
        let mut condenser = Condenser::new(skipped, shift);
        let mut end = TracePosition::default();
        let mut state = ReplayProgress {
            pass: 1,
            passes: 1,
            ..ReplayProgress::default()
        };
        'read: while let Some(mut part) = source.next_part().map_err(Error::Source)? {
            end.pieces = 0;
            while let Some(piece) = part.next().map_err(Error::Source)? {
                let taken = match piece {
                    SourcePiece::Visits(visits) => condenser.take(visits.iter().copied()),
                    SourcePiece::Phrased(phrased) => condenser.take(phrased.visits()),
                    SourcePiece::Event(event) => {
                        condenser.event(event);
                        None
                    }
                    // A mix refuses a reduced form, and says why.
                    SourcePiece::Reduced(..) => break 'read,
                };
                state.accesses = condenser.accesses;
                if progress(state).is_break() {
                    return Err(Error::Stopped);
                }
                if condenser.steps.len() > MOST_STEPS {
                    break 'read;
                }
                if let Some(visits) = taken {
                    end.visits = visits;
                    drop(part);
                    source.rewind().map_err(Error::Source)?;
                    let mut steps = condenser.steps;
                    steps.shrink_to_fit();
                    return Ok(Some(Self {
                        skipped,
                        steps,
                        end,
                    }));
                }
                end.pieces += 1;
            }
            if source.close(part).map_err(Error::Source)?.is_break() {
                break;
            }
            end.parts += 1;
        }
        source.rewind().map_err(Error::Source)?;
        Ok(None)
    }

    /// The number of kept visits and events.
    pub const fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if nothing was kept.
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// How a visit concerns its page, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Concern {
    /// The visit only carries instructions.
    #[default]
    Notes,
    References,
    Stores,
}

impl Concern {
    fn of(visit: &Visit) -> Self {
        if visit.stores > 0 || visit.lead == Lead::Store {
            Self::Stores
        } else if visit.fetch || visit.accesses() > 0 || visit.lead != Lead::None {
            Self::References
        } else {
            Self::Notes
        }
    }
}

/// A page that was visited since the last event.
#[derive(Clone, Copy, Debug, Default)]
struct KnownPage {
    page: u64,
    /// The number of events before; zero if the place is empty.
    events: u32,
    concern: Concern,
}

struct Condenser {
    skipped: u64,
    /// The instructions so far, and the accesses.
    instructions: u64,
    accesses: u64,
    shift: u32,
    steps: Vec<BeginningStep>,
    known: Vec<KnownPage>,
    events: u32,
}

impl Condenser {
    fn new(skipped: u64, shift: u32) -> Self {
        Self {
            skipped,
            instructions: 0,
            accesses: 0,
            shift,
            steps: Vec::new(),
            known: vec![KnownPage::default(); KNOWN_PAGES],
            events: 1,
        }
    }

    fn event(&mut self, event: &Event) {
        self.steps
            .push(BeginningStep::Event(Box::new(event.clone())));
        self.events = self.events.checked_add(1).unwrap_or_else(|| {
            self.known.fill(KnownPage::default());
            1
        });
    }

    /// Takes visits with no event between them, up to the end of the beginning. Returns their
    /// number if the beginning ends with them.
    fn take(&mut self, visits: impl Iterator<Item = Visit>) -> Option<usize> {
        let mut taken = 0;
        for visit in visits {
            if self.instructions >= self.skipped {
                return Some(taken);
            }
            self.visit(visit);
            taken += 1;
        }
        (self.instructions >= self.skipped).then_some(taken)
    }

    fn visit(&mut self, visit: Visit) {
        self.instructions += u64::from(visit.instructions);
        self.accesses += visit.accesses();
        let (page, concern) = (visit.unit >> self.shift, Concern::of(&visit));
        let place = (page ^ page >> KNOWN_PAGES.ilog2()) as usize % KNOWN_PAGES;
        let known = &mut self.known[place];
        if known.events == self.events && known.page == page && known.concern >= concern {
            // A visit of the page came before, so a step did.
            if let Some(BeginningStep::Visit(_, passed)) = self.steps.last_mut() {
                passed.sums.add(&sums_of(&visit));
                passed.references += u64::from(concern > Concern::Notes);
            }
            return;
        }
        *known = KnownPage {
            page,
            events: self.events,
            concern,
        };
        self.steps
            .push(BeginningStep::Visit(visit, PassedVisits::default()));
    }
}

/// The sums of a visit, as the clock of a trace advances by them.
pub(crate) fn sums_of(visit: &Visit) -> Sums {
    Sums {
        loads: visit.loads.into(),
        stores: visit.stores.into(),
        instructions: visit.instructions.into(),
        ..Sums::default()
    }
}
