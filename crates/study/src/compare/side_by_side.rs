//! Comparisons side by side: several replays of one trace that is decoded once.

use broadleaf_machine::Machine;
use broadleaf_model::Plan;
use broadleaf_trace::VisitEnds;

use super::within_machine;
use crate::memory::MemoryRequest;
use crate::source::shared::SharedReader;

/// The reader and the facts that a comparison shares with others of the same trace.
#[derive(Default)]
pub(crate) struct SideBySide {
    /// Reads the decoded trace; `None` for a comparison that decodes the trace itself.
    pub(crate) reader: Option<SharedReader>,
    /// The peak memory with base pages, in bytes, if it is known.
    pub(crate) footprint: Option<u64>,
    /// The number of other comparisons, which need memory of this machine too.
    pub(crate) others: u64,
}

impl SideBySide {
    /// Limits a plan to its share of the memory that the machine gives this process.
    pub(super) fn within_machine(&self, plan: Plan) -> Plan {
        let plan = within_machine(plan);
        match plan.most_bytes() {
            Some(bytes) => plan.within_bytes(bytes / (self.others + 1)),
            None => plan,
        }
    }
}

/// Where visits end for these machines. With `restarts`, instructions begin again after a miss.
pub(crate) fn visit_ends<'m>(
    restarts: bool,
    machines: impl IntoIterator<Item = &'m Machine>,
) -> VisitEnds {
    match restarts {
        true => VisitEnds::Instructions,
        false if machines.into_iter().any(Machine::follows_code) => VisitEnds::Executions,
        false => VisitEnds::Units,
    }
}

/// Returns true if a comparison needs the fetches of instructions.
pub(crate) fn needs_fetches(memory: Option<&MemoryRequest>, machines: &[Machine]) -> bool {
    memory.is_some_and(|memory| memory.code)
        || machines.iter().any(|machine| machine.caches.is_some())
        || !crate::machines::with_instruction_tlbs(machines).is_empty()
}
