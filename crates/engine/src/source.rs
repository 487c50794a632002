//! Where a trace comes from, as far as the engine cares.

use broadleaf_trace::{Event, Grain, Item, Visit};

/// A trace that can be read from its start more than once.
pub trait Source {
    /// What can go wrong while reading.
    type Error;

    /// The unit in which visits name places.
    fn grain(&self) -> Grain;

    /// Goes back to the start. Called before each pass but the first; most plans need one pass only.
    ///
    /// # Errors
    /// Where the source cannot be read again.
    fn rewind(&mut self) -> Result<(), Self::Error>;

    /// The next piece of the trace, or `None` at its end.
    ///
    /// # Errors
    /// Where the source is damaged or cannot be read.
    fn next(&mut self) -> Result<Option<Item<'_>>, Self::Error>;
}

/// One piece of a trace that is kept in memory.
#[derive(Clone, Debug)]
enum Piece {
    Visits(Vec<Visit>),
    Event(Event),
}

/// A trace that is kept in memory: for tests and small inputs.
#[derive(Clone, Debug)]
pub struct Items {
    grain: Grain,
    pieces: Vec<Piece>,
    at: usize,
}

impl Items {
    /// An empty trace of that grain.
    pub const fn new(grain: Grain) -> Self {
        Self {
            grain,
            pieces: Vec::new(),
            at: 0,
        }
    }

    /// Adds visits at the end.
    pub fn visits(&mut self, visits: impl IntoIterator<Item = Visit>) -> &mut Self {
        self.pieces
            .push(Piece::Visits(visits.into_iter().collect()));
        self
    }

    /// Adds an event at the end.
    pub fn event(&mut self, event: Event) -> &mut Self {
        self.pieces.push(Piece::Event(event));
        self
    }
}

impl Source for Items {
    type Error = std::convert::Infallible;

    fn grain(&self) -> Grain {
        self.grain
    }

    fn rewind(&mut self) -> Result<(), Self::Error> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Item<'_>>, Self::Error> {
        let piece = self.pieces.get(self.at);
        self.at += 1;
        Ok(piece.map(|piece| match piece {
            Piece::Visits(visits) => Item::Visits(visits),
            Piece::Event(event) => Item::Event(event),
        }))
    }
}
