//! A made-up page table: one sorted list, searched from its middle.

use super::no_spans;
use crate::{PageTable, PageTableKind, TableRead, TableSize};
use broadleaf_units::{AlignedRun, Described, Leaf, PageNumber, SpaceId};
use std::collections::BTreeMap;

pub(super) static LISTED: PageTableKind = PageTableKind {
    described: Described {
        name: "listed",
        summary: "one sorted list of leaves",
        explanation: "A walk reads one entry for each halving of the list.",
        source: "the test of the recipes",
    },
    parameters: &[],
    build: |_, _| Box::new(Listed::default()),
    spans: no_spans,
    cost_by_size: false,
};

#[derive(Clone, Debug, Default)]
struct Listed(BTreeMap<(SpaceId, u64), Leaf>);

impl PageTable for Listed {
    fn map(&mut self, space: SpaceId, leaf: Leaf) {
        self.0.insert((space, leaf.run.first.0), leaf);
    }

    fn unmap(&mut self, space: SpaceId, run: AlignedRun) {
        let key = (space, run.first.0);
        if self.0.get(&key).is_some_and(|leaf| leaf.run == run) {
            self.0.remove(&key);
        }
    }

    fn end(&mut self, space: SpaceId) {
        self.0.retain(|(of, _), _| *of != space);
    }

    fn walk(
        &mut self,
        space: SpaceId,
        page: PageNumber,
        reads: &mut dyn FnMut(TableRead),
    ) -> Option<Leaf> {
        let halvings = self.0.len().next_power_of_two().trailing_zeros();
        for entry in 0..u64::from(halvings) {
            reads(TableRead { address: 16 * entry, bytes: 16, begins_node: entry == 0 });
        }
        let (_, leaf) = self.0.range((space, 0)..=(space, page.0)).next_back()?;
        leaf.run.contains(page).then_some(*leaf)
    }

    fn size(&self) -> TableSize {
        let nodes = self.0.len() as u64;
        TableSize::of(nodes, 16 * nodes)
    }
}
