//! Sources of traces, as the replay sees them.

use broadleaf_trace::reduced::{KeptVisit, ReducedItem, Sums};
use broadleaf_trace::{CodeTable, Event, Grain, Item, PartItem, Phrased, Visit};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A trace that can be read from its start more than once, in parts that can be decoded at the same
/// time.
///
/// A source that cannot be cut has one part.
pub trait Source {
    /// The error of a failed read.
    type Error: Send;
    /// A part of the trace.
    type Part: SourcePart<Error = Self::Error>;

    /// The unit in which visits name places.
    fn grain(&self) -> Grain;

    /// Returns true if the trace holds forked child processes. Otherwise a child has no events.
    fn holds_children(&self) -> bool {
        true
    }

    /// Returns true if the trace holds a whole system: its kernel too, and its page tables.
    fn holds_system(&self) -> bool {
        false
    }

    /// The code of the trace's blocks, by the numbers of [`Visit::execution`], in this pass. `None`
    /// if visits name no executions.
    fn code(&self) -> Option<Arc<CodeTable>> {
        None
    }

    /// Returns true if the trace is a reduced form already.
    fn is_reduced(&self) -> bool {
        false
    }

    /// Goes back to the start. The replay calls this before each pass but the first, when all parts
    /// were closed or dropped. Most plans need one pass only.
    ///
    /// # Errors
    /// Returns an error if the source cannot be read again.
    fn rewind(&mut self) -> Result<(), Self::Error>;

    /// The next part of the trace, or `None` at its end.
    ///
    /// # Errors
    /// Returns an error if the source is damaged or cannot be read. Earlier parts remain valid.
    fn next_part(&mut self) -> Result<Option<Self::Part>, Self::Error>;

    /// Passes the next part over. A source whose parts are independent does not decode the part,
    /// and so sees no damage in it.
    ///
    /// # Errors
    /// As [`Source::next_part`] and [`Source::close`].
    fn pass_part(&mut self) -> Result<(), Self::Error> {
        let Some(mut part) = self.next_part()? else {
            return Ok(());
        };
        while part.next()?.is_some() {}
        self.close(part).map(|_| ())
    }

    /// Closes a part that was read to its end. Parts close in the order of [`Source::next_part`].
    /// [`ControlFlow::Break`] ends the trace with this part, even if later parts were returned.
    ///
    /// # Errors
    /// Returns an error if the part shows that the source is damaged.
    fn close(&mut self, part: Self::Part) -> Result<ControlFlow<()>, Self::Error>;
}

/// A piece of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePiece<'a> {
    /// References, in order, with no event between them.
    Visits(&'a [Visit]),
    /// References by their words, in order, with no event between them. All pieces of a part share
    /// one vocabulary.
    Phrased(Phrased<'a>),
    /// References that may change the state of the plan's machines, with the sums of all
    /// references.
    Reduced(&'a [KeptVisit], Sums),
    /// An event that takes effect before the next visit.
    Event(&'a Event),
}

impl<'a> From<Item<'a>> for SourcePiece<'a> {
    fn from(item: Item<'a>) -> Self {
        match item {
            Item::Visits(visits) => Self::Visits(visits),
            Item::Event(event) => Self::Event(event),
        }
    }
}

impl<'a> From<PartItem<'a>> for SourcePiece<'a> {
    fn from(item: PartItem<'a>) -> Self {
        match item {
            PartItem::Visits(visits) => Self::Visits(visits),
            PartItem::Phrased(phrased) => Self::Phrased(phrased),
            PartItem::Event(event) => Self::Event(event),
        }
    }
}

impl<'a> From<ReducedItem<'a>> for SourcePiece<'a> {
    fn from(item: ReducedItem<'a>) -> Self {
        match item {
            ReducedItem::Visits(visits, sums) => Self::Reduced(visits, sums),
            ReducedItem::Event(event) => Self::Event(event),
        }
    }
}

/// A part of a trace, independent of earlier parts. If a part begins in another address space than
/// the previous part ended in, its first event names the space.
pub trait SourcePart: Send {
    /// The error of a failed read.
    type Error;

    /// The next piece of the part, or `None` at its end.
    ///
    /// # Errors
    /// Returns an error if the part is damaged or cannot be read.
    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, Self::Error>;
}

/// One piece of a trace that is kept in memory.
#[derive(Clone, Debug)]
enum ItemKind {
    Visits(Vec<Visit>),
    Event(Event),
}

/// A trace that is kept in memory: for tests and small inputs.
#[derive(Clone, Debug)]
pub struct Items {
    grain: Grain,
    pieces: Arc<Vec<ItemKind>>,
    /// The number of pieces in a part.
    part: usize,
    at: usize,
    children: bool,
    system: bool,
}

impl Items {
    /// An empty trace of that grain, in one part.
    pub fn new(grain: Grain) -> Self {
        Self {
            grain,
            pieces: Arc::default(),
            part: usize::MAX,
            at: 0,
            children: true,
            system: false,
        }
    }

    /// Makes the trace one that does not hold forked child processes.
    pub fn without_children(mut self) -> Self {
        self.children = false;
        self
    }

    /// Makes the trace one of a whole system.
    pub fn of_system(mut self) -> Self {
        self.system = true;
        self
    }

    /// Cuts the trace into parts of `pieces` pieces. Values below 1 count as 1.
    pub fn in_parts_of(mut self, pieces: usize) -> Self {
        self.part = pieces.max(1);
        self
    }

    /// Adds visits at the end.
    pub fn visits(&mut self, visits: impl IntoIterator<Item = Visit>) -> &mut Self {
        self.add(ItemKind::Visits(visits.into_iter().collect()))
    }

    /// Adds an event at the end.
    pub fn event(&mut self, event: Event) -> &mut Self {
        self.add(ItemKind::Event(event))
    }

    fn add(&mut self, piece: ItemKind) -> &mut Self {
        Arc::make_mut(&mut self.pieces).push(piece);
        self
    }
}

impl Source for Items {
    type Error = std::convert::Infallible;
    type Part = SomeItems;

    fn grain(&self) -> Grain {
        self.grain
    }

    fn holds_children(&self) -> bool {
        self.children
    }

    fn holds_system(&self) -> bool {
        self.system
    }

    fn rewind(&mut self) -> Result<(), Self::Error> {
        self.at = 0;
        Ok(())
    }

    fn next_part(&mut self) -> Result<Option<SomeItems>, Self::Error> {
        let (from, to) = (
            self.at,
            self.at.saturating_add(self.part).min(self.pieces.len()),
        );
        self.at = to;
        Ok((from < to).then(|| SomeItems {
            pieces: Arc::clone(&self.pieces),
            at: from,
            to,
        }))
    }

    fn close(&mut self, _: SomeItems) -> Result<ControlFlow<()>, Self::Error> {
        Ok(ControlFlow::Continue(()))
    }
}

/// A part of [`Items`].
#[derive(Clone, Debug)]
pub struct SomeItems {
    pieces: Arc<Vec<ItemKind>>,
    at: usize,
    to: usize,
}

impl SourcePart for SomeItems {
    type Error = std::convert::Infallible;

    fn next(&mut self) -> Result<Option<SourcePiece<'_>>, Self::Error> {
        if self.at == self.to {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(match &self.pieces[self.at - 1] {
            ItemKind::Visits(visits) => SourcePiece::Visits(visits),
            ItemKind::Event(event) => SourcePiece::Event(event),
        }))
    }
}
