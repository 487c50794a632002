//! Visits in one form, however a trace stores them.
//!
//! A reader ends a visit where a chunk ends, and a writer joins visits of one unit again. A run of
//! references may be split without a change of any count, so tables join such visits too: a trace
//! that is written from its tables has equal tables.

use broadleaf_trace::{Event, Lead, SystemEvent, Visit};

/// Visits on their way to a table. Those that follow each other in one unit are joined, and
/// instructions without a reference go to the next visit.
#[derive(Debug, Default)]
pub(super) struct JoinedVisits {
    held: Option<Visit>,
    /// Instructions after the last reference.
    carried: u64,
}

impl JoinedVisits {
    /// Takes a visit. Appends the visits that are complete.
    pub(super) fn visit(&mut self, visit: &Visit, out: &mut Vec<Visit>) {
        let mut visit = *visit;
        if !visit.fetch && visit.lookups() == 0 {
            self.carried += u64::from(visit.instructions);
            return;
        }
        let sum = u64::from(visit.instructions) + self.carried;
        match u32::try_from(sum) {
            Ok(sum) if !visit.fetch && visit.accesses() > 0 => {
                (visit.instructions, self.carried) = (sum, 0);
            }
            _ => {}
        }
        let joined = self.held.as_ref().and_then(|held| join(held, &visit));
        match joined {
            Some(joined) => self.held = Some(joined),
            None => {
                out.extend(self.held.take());
                self.held = Some(visit);
            }
        }
    }

    /// Ends the last visit before an event. The instructions at the end of a space stay in it.
    pub(super) fn event(&mut self, event: &Event, out: &mut Vec<Visit>) {
        out.extend(self.held.take());
        let leaves_space = matches!(
            event,
            Event::SpaceSwitch(_)
                | Event::SpaceEnd { .. }
                | Event::System(SystemEvent::Space(_) | SystemEvent::SpaceEnd)
        );
        if leaves_space {
            self.put_down(out);
        }
    }

    /// Ends the last visit.
    pub(super) fn end(&mut self, out: &mut Vec<Visit>) {
        out.extend(self.held.take());
        self.put_down(out);
    }

    fn put_down(&mut self, out: &mut Vec<Visit>) {
        while self.carried > 0 {
            let instructions = u32::try_from(self.carried).unwrap_or(u32::MAX);
            self.carried -= u64::from(instructions);
            out.push(Visit {
                instructions,
                ..Visit::default()
            });
        }
    }
}

/// Joins two visits, if they are one run of references to one unit.
fn join(first: &Visit, second: &Visit) -> Option<Visit> {
    if first.unit != second.unit || first.fetch != second.fetch || second.lead != Lead::None {
        return None;
    }
    let loads = first.loads.checked_add(second.loads)?;
    let before = match (first.stores, second.stores) {
        (0, 0) => loads,
        (0, _) => first.loads + second.loads_before_store,
        (_, _) => first.loads_before_store,
    };
    Some(Visit {
        loads,
        stores: first.stores.checked_add(second.stores)?,
        loads_before_store: before,
        instructions: first.instructions.checked_add(second.instructions)?,
        ..*first
    })
}
