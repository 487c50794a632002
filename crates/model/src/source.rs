//! Where a trace comes from, as far as the engine cares.

use broadleaf_trace::reduced::{Kept, ReducedItem, Sums};
use broadleaf_trace::{Event, Grain, Item, PartItem, Phrased, Visit};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A trace that can be read from its start more than once, in parts that can be decoded at the same
/// time.
///
/// A source that cannot be cut has one part.
pub trait Source {
    /// What can go wrong while reading.
    type Error: Send;
    /// A part of the trace.
    type Part: Part<Error = Self::Error>;

    /// The unit in which visits name places.
    fn grain(&self) -> Grain;

    /// Whether the trace holds the processes that others fork. Where it does not, a child is not
    /// heard of again.
    fn holds_children(&self) -> bool {
        true
    }

    /// Goes back to the start. Called before each pass but the first, when all parts were given
    /// back or are gone; most plans need one pass only.
    ///
    /// # Errors
    /// Where the source cannot be read again.
    fn rewind(&mut self) -> Result<(), Self::Error>;

    /// The next part of the trace, or `None` at its end.
    ///
    /// # Errors
    /// Where the source is damaged or cannot be read. What stands before that was handed out.
    fn next_part(&mut self) -> Result<Option<Self::Part>, Self::Error>;

    /// Takes a part back that was read to its end, in the order in which parts were handed out. The
    /// answer [`ControlFlow::Break`] says that the trace ends with it, whatever was handed out
    /// after.
    ///
    /// # Errors
    /// Where that shows that the source is damaged.
    fn close(&mut self, part: Self::Part) -> Result<ControlFlow<()>, Self::Error>;
}

/// What a part holds next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// References, in order, with no event between them.
    Visits(&'a [Visit]),
    /// The same by their words. All pieces of a part have one vocabulary.
    Phrased(Phrased<'a>),
    /// Those of them that may change something on the machines of the plan, and what all come to.
    Reduced(&'a [Kept], Sums),
    /// Something that takes effect before the next visit.
    Event(&'a Event),
}

impl<'a> From<Item<'a>> for Piece<'a> {
    fn from(item: Item<'a>) -> Self {
        match item {
            Item::Visits(visits) => Self::Visits(visits),
            Item::Event(event) => Self::Event(event),
        }
    }
}

impl<'a> From<PartItem<'a>> for Piece<'a> {
    fn from(item: PartItem<'a>) -> Self {
        match item {
            PartItem::Visits(visits) => Self::Visits(visits),
            PartItem::Phrased(phrased) => Self::Phrased(phrased),
            PartItem::Event(event) => Self::Event(event),
        }
    }
}

impl<'a> From<ReducedItem<'a>> for Piece<'a> {
    fn from(item: ReducedItem<'a>) -> Self {
        match item {
            ReducedItem::Visits(visits, sums) => Self::Reduced(visits, sums),
            ReducedItem::Event(event) => Self::Event(event),
        }
    }
}

/// A part of a trace. Nothing is known of the parts before it: each begins in the address space
/// that its first event names, if that is another than that of the part before.
pub trait Part: Send {
    /// What can go wrong while reading.
    type Error;

    /// The next piece of the part, or `None` at its end.
    ///
    /// # Errors
    /// Where the part is damaged or cannot be read.
    fn next(&mut self) -> Result<Option<Piece<'_>>, Self::Error>;
}

/// One piece of a trace that is kept in memory.
#[derive(Clone, Debug)]
enum Kind {
    Visits(Vec<Visit>),
    Event(Event),
}

/// A trace that is kept in memory: for tests and small inputs.
#[derive(Clone, Debug)]
pub struct Items {
    grain: Grain,
    pieces: Arc<Vec<Kind>>,
    /// How many pieces a part has.
    part: usize,
    at: usize,
    children: bool,
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
        }
    }

    /// The trace follows no processes that others fork.
    pub fn without_children(mut self) -> Self {
        self.children = false;
        self
    }

    /// Hands the trace out in parts of so many pieces, of which a part has at least one.
    pub fn in_parts_of(mut self, pieces: usize) -> Self {
        self.part = pieces.max(1);
        self
    }

    /// Adds visits at the end.
    pub fn visits(&mut self, visits: impl IntoIterator<Item = Visit>) -> &mut Self {
        self.add(Kind::Visits(visits.into_iter().collect()))
    }

    /// Adds an event at the end.
    pub fn event(&mut self, event: Event) -> &mut Self {
        self.add(Kind::Event(event))
    }

    fn add(&mut self, piece: Kind) -> &mut Self {
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
    pieces: Arc<Vec<Kind>>,
    at: usize,
    to: usize,
}

impl Part for SomeItems {
    type Error = std::convert::Infallible;

    fn next(&mut self) -> Result<Option<Piece<'_>>, Self::Error> {
        if self.at == self.to {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(match &self.pieces[self.at - 1] {
            Kind::Visits(visits) => Piece::Visits(visits),
            Kind::Event(event) => Piece::Event(event),
        }))
    }
}
