//! Plain executions, explicit and predicted. Readers spend most of their time here.
//!
//! All changing state is in local variables of one loop. A special execution stops the loop after
//! reading its head only. [`super::executions`] then makes the special execution, and the loop
//! continues.

use super::ChunkReader;
use super::executions::{JUMP, LEFT, LEFT_MASK, LONG_RUN, PATH, PATH_NAMED, PATH_NEXT, PATH_NONE};
use super::fault::ExecutionFault;
use super::tables::{LAST_UNIT, NO_ROW, ReferenceState, RowCare, pair};
use super::units::Units;
use super::visits::{MOST_VISITS, ROOM};
use crate::visit::Visit;

/// The reason why the loop stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlainStop {
    /// The item is full, an event is due, or no head is left.
    Done,
    /// The next predicted execution is special.
    Predicted,
    /// This head describes a special execution.
    Explicit(u8),
    /// A head executes this row, and some of its references are special.
    Special(u32),
}

/// The last visit, which may grow.
struct OpenVisit {
    unit: u64,
    accesses: u64,
    others: u64,
}

impl OpenVisit {
    /// Adds a reference to the visit, or begins the next visit with the reference. `all` holds
    /// `length` visits, with room for another.
    #[inline(always)]
    fn add(
        &mut self,
        unit: u64,
        accesses: u64,
        others: u64,
        all: &mut [Visit; ROOM],
        length: &mut usize,
    ) {
        if unit == self.unit {
            // Loads come before the first store while there is no store.
            self.others += match self.accesses >> 32 {
                0 => others,
                _ => others & pair(0, u32::MAX),
            };
            self.accesses += accesses;
        } else {
            self.write(&mut all[*length - 1]);
            *length += 1;
            *self = Self {
                unit,
                accesses,
                others,
            };
        }
    }

    #[inline(always)]
    const fn write(&self, to: &mut Visit) {
        to.unit = self.unit;
        to.loads = self.accesses as u32;
        to.stores = (self.accesses >> 32) as u32;
        to.loads_before_store = self.others as u32;
        to.instructions = (self.others >> 32) as u32;
    }
}

impl ChunkReader {
    /// Makes plain executions.
    pub(super) fn go(&mut self) -> Result<PlainStop, ExecutionFault> {
        let sections = &mut self.sections;
        let end = sections.heads.bytes.len().min(self.next_event.position());
        let heads = &sections.heads.bytes[..end];
        let mut at = sections.heads.at;
        let masks = sections.masks.bytes.as_slice();
        let mut masks_at = sections.masks.at;
        let rows = self.tables.rows.as_mut_slice();
        let links = self.tables.links.as_mut_slice();
        let row_of = self.tables.row_of.as_slice();
        let mut units = Units {
            codes: &sections.units.bytes,
            at: sections.units.at,
            places: &mut sections.places,
            recent: &mut self.tables.recent,
            references: &mut self.tables.references,
            most_unit: self.most_unit,
        };
        let mut current = self.current as usize;
        let mut run = self.run;
        let mut head = self.head;
        let mut executions = self.made.executions;

        let visits = &mut self.visits;
        if visits.length > MOST_VISITS {
            // A special execution may make more visits than the room in this loop.
            return Ok(PlainStop::Done);
        }
        // The length is constant: a size known to the compiler saves a register.
        let Some(all) = visits.all.first_chunk_mut::<ROOM>() else {
            return Ok(PlainStop::Done);
        };
        let mut length = visits.length;
        let last = &all[length - 1];
        let mut open = OpenVisit {
            unit: last.unit,
            accesses: pair(last.loads, last.stores),
            others: pair(last.loads_before_store, last.instructions),
        };
        let (mut all_accesses, mut all_others) = (0, 0);
        let mut carried = visits.carried << 32;
        let mut room = visits.executions;

        let stop = loop {
            // ---- a head: its count joins the predicted executions ----
            if head.is_none()
                && let Some(&byte) = heads.get(at)
            {
                at += 1;
                let mut counted = u64::from(byte >> 4);
                if counted == LONG_RUN {
                    let more = sections.runs.number().map_err(|_| ExecutionFault::Run)?;
                    counted = counted.saturating_add(more);
                }
                let explicit = byte & 0xf;
                let executed = counted.saturating_add(u64::from(explicit & PATH != PATH_NONE));
                executions = match executions.checked_add(executed) {
                    Some(sum) if sum <= self.totals.executions => sum,
                    _ => return Err(ExecutionFault::Executions),
                };
                match explicit {
                    // A head may also describe a predicted execution.
                    PATH_NEXT | PATH_NONE => {
                        run += executed;
                        continue;
                    }
                    explicit if explicit & PATH == PATH_NONE => {
                        return Err(ExecutionFault::LeftByNone);
                    }
                    explicit => head = Some(explicit),
                }
                run += counted;
            }

            // ---- predicted executions ----
            let most = run.min(room);
            let mut left = most;
            let mut next = links[current][0] as usize;
            while left > 0 && length <= MOST_VISITS {
                let row = &rows[next];
                if row.care != RowCare::Plain {
                    break;
                }
                current = next;
                next = links[next][0] as usize;
                let first = row.first as usize;
                for one in &units.references[first..first + usize::from(row.steps)] {
                    let added = one.others + carried;
                    carried = 0;
                    all_accesses += one.accesses;
                    all_others += added;
                    open.add(one.unit, one.accesses, added, all, &mut length);
                }
                carried += u64::from(row.tail) << 32;
                left -= 1;
            }
            room -= most - left;
            run -= most - left;
            if run > 0 {
                break if room == 0 || length > MOST_VISITS {
                    PlainStop::Done
                } else {
                    PlainStop::Predicted
                };
            }
            let Some(explicit) = head else {
                break PlainStop::Done;
            };
            if room == 0 || length > MOST_VISITS {
                break PlainStop::Done;
            }

            // ---- an explicit execution: it changes the tables, which then predict it ----
            head = None;
            let path = explicit & PATH;
            // The choice is unpredictable for the processor, so the loop reads both links.
            let followed = &links[current];
            let mut number = followed[usize::from(path & 1)];
            let other = followed[usize::from(path == PATH_NEXT)];
            if path == PATH_NAMED {
                number = match sections.patterns.bytes.get(sections.patterns.at..) {
                    Some(&[low, middle, high, ..]) => {
                        let number = u32::from_le_bytes([low, middle, high, 0]);
                        row_of.get(number as usize).copied().unwrap_or(NO_ROW)
                    }
                    _ => NO_ROW,
                };
            }
            let row = &mut rows[number as usize];
            let left = explicit & LEFT;
            if row.care != RowCare::Plain || (left != 0 && row.steps > 8) || left > LEFT_MASK {
                break PlainStop::Explicit(explicit);
            }
            if explicit == JUMP && number as usize == current && (row.steps, row.mask) == (1, 1) {
                // ---- executions of one pattern whose only reference jumps each time ----
                let (first, tail) = (row.first as usize, u64::from(row.tail) << 32);
                let ReferenceState {
                    accesses, others, ..
                } = units.references[first];
                let most = (room as usize).min(MOST_VISITS + 1 - length);
                let most = (self.totals.executions - executions).min(most as u64 - 1) as usize;
                let most = 1 + jumps_in(&heads[at..], most);
                let made = units.jumps(most, |unit| {
                    open.add(unit, accesses, others + carried, all, &mut length);
                    all_accesses += accesses;
                    all_others += others + carried;
                    carried = tail;
                });
                if made > 0 {
                    units.references[first].unit = units.recent[LAST_UNIT];
                    // This execution's head was read; the others' were not.
                    at += made - 1;
                    executions += made as u64 - 1;
                    room -= made as u64;
                    links[current] = [number, other];
                    continue;
                }
            }
            if left != 0 {
                if left == LEFT_MASK {
                    match masks.get(masks_at) {
                        Some(&mask) if u32::from(mask) >> row.steps == 0 => row.mask = mask,
                        _ => break PlainStop::Explicit(explicit),
                    }
                    masks_at += 1;
                }
                units.leave(row.first, 0, row.mask, &mut 0, &mut self.specials)?;
            }
            if path == PATH_NAMED {
                sections.patterns.at += 3;
            }
            links[current] = [number, other];
            if !self.specials.is_empty() {
                break PlainStop::Special(number);
            }
            run = 1;
        };

        open.write(&mut all[length - 1]);
        visits.length = length;
        visits.carried = carried >> 32;
        visits.executions = room;
        visits.made.loads += all_accesses & pair(u32::MAX, 0);
        visits.made.stores += all_accesses >> 32;
        visits.made.instructions += all_others >> 32;
        sections.heads.at = at;
        sections.units.at = units.at;
        sections.masks.at = masks_at;
        self.made.executions = executions;
        self.current = current as u32;
        self.run = run;
        self.head = head;
        Ok(stop)
    }
}

/// The number of jumps at the start of `heads`, at most `most`.
#[inline(always)]
fn jumps_in(heads: &[u8], most: usize) -> usize {
    let heads = &heads[..most.min(heads.len())];
    let (chunks, _) = heads.as_chunks::<16>();
    let whole = chunks.iter().take_while(|chunk| **chunk == [JUMP; 16]);
    let counted = 16 * whole.count();
    let rest = heads[counted..].iter();
    counted + rest.take_while(|head| **head == JUMP).count()
}
