//! The batches that an importer hands over.

use broadleaf_trace::{Event, Item, Visit};

/// Visits and the events between them, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportBatch {
    /// The visits.
    pub visits: Vec<Visit>,
    /// Events, each with the number of visits of this batch that come before it.
    events: Vec<(usize, Event)>,
}

impl ImportBatch {
    /// The number of visits and events that one call of
    /// [`TraceImporter::read`](crate::TraceImporter::read) makes, give or take those of one record.
    pub(crate) const GOAL: usize = 8 << 10;

    /// Removes everything.
    pub fn clear(&mut self) {
        self.visits.clear();
        self.events.clear();
    }

    /// Appends an event after the visits so far.
    pub(crate) fn event(&mut self, event: Event) {
        self.events.push((self.visits.len(), event));
    }

    /// The number of visits and events.
    pub fn len(&self) -> usize {
        self.visits.len() + self.events.len()
    }

    /// Returns true if the batch holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The batch as pieces of a trace, in order.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let mut begin = 0;
        let before_events = self.events.iter().flat_map(move |(end, event)| {
            let visits = &self.visits[begin..*end];
            begin = *end;
            [Item::Visits(visits), Item::Event(event)]
        });
        let rest = self.events.last().map_or(0, |(end, _)| *end);
        let all = before_events.chain([Item::Visits(&self.visits[rest..])]);
        all.filter(|item| !matches!(item, Item::Visits([])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_units::ThreadId;

    #[test]
    fn events_stand_where_they_were_appended() {
        let visit = |unit| Visit {
            unit,
            ..Visit::default()
        };
        let (start, end) = (
            Event::ThreadStart(ThreadId(1)),
            Event::ThreadEnd(ThreadId(1)),
        );
        let mut batch = ImportBatch::default();
        batch.event(start.clone());
        batch.visits.extend([visit(1), visit(2)]);
        batch.event(end.clone());
        batch.event(start.clone());
        batch.visits.push(visit(3));
        let items: Vec<Item<'_>> = batch.items().collect();
        assert_eq!(
            items,
            [
                Item::Event(&start),
                Item::Visits(&[visit(1), visit(2)]),
                Item::Event(&end),
                Item::Event(&start),
                Item::Visits(&[visit(3)]),
            ]
        );
    }
}
