//! Plain executions, told and foretold: where a reader spends its time.
//!
//! One loop, in which everything that changes is a local variable. What is out of the ordinary stops it before anything of it was
//! taken off a section but its head; [`super::executions`] sees to that, and the loop goes on.

use super::ChunkReader;
use super::executions::{LEFT, LEFT_MASK, LONG_RUN, PATH, PATH_NAMED, PATH_NEXT, PATH_NONE};
use super::fault::Fault;
use super::tables::{Care, NO_ROW, pair};
use super::units::Units;
use super::visits::{MOST_VISITS, ROOM};

/// Why the loop stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The item is full, an event is due, or the heads are at their end.
    Done,
    /// What is foretold next is not plain.
    Foretold,
    /// This head tells of what is not plain.
    Told(u8),
    /// A head told of this row, and something is special about its references.
    Special(u32),
}

/// The last visit, which may still grow.
struct Open {
    unit: u64,
    accesses: u64,
    others: u64,
}

impl ChunkReader {
    /// Executes what is plain.
    pub(super) fn go(&mut self) -> Result<Stop, Fault> {
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
            told: &sections.units.bytes,
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
            // An execution out of the ordinary may make more of them than there is room for here.
            return Ok(Stop::Done);
        }
        // There are never fewer: a size that the compiler knows is one register less.
        let Some(all) = visits.all.first_chunk_mut::<ROOM>() else {
            return Ok(Stop::Done);
        };
        let mut length = visits.length;
        let last = &all[length - 1];
        let mut open = Open {
            unit: last.unit,
            accesses: pair(last.loads, last.stores),
            others: pair(last.loads_before_store, last.instructions),
        };
        let (mut all_accesses, mut all_others) = (0, 0);
        let mut carried = visits.carried << 32;
        let mut room = visits.executions;

        let stop = loop {
            // ---- a head: what it counts is added to what is counted already ----
            if head.is_none()
                && let Some(&byte) = heads.get(at)
            {
                at += 1;
                let mut counted = u64::from(byte >> 4);
                if counted == LONG_RUN {
                    let more = sections.runs.number().map_err(|_| Fault::Run)?;
                    counted = counted.saturating_add(more);
                }
                let told = byte & 0xf;
                let told_of = counted.saturating_add(u64::from(told & PATH != PATH_NONE));
                executions = match executions.checked_add(told_of) {
                    Some(sum) if sum <= self.totals.executions => sum,
                    _ => return Err(Fault::Executions),
                };
                match told {
                    // What was foretold and stayed where it was may be told all the same.
                    PATH_NEXT | PATH_NONE => {
                        run += told_of;
                        continue;
                    }
                    told if told & PATH == PATH_NONE => return Err(Fault::LeftByNone),
                    told => head = Some(told),
                }
                run += counted;
            }

            // ---- what is foretold ----
            let most = run.min(room);
            let mut left = most;
            let mut next = links[current][0] as usize;
            while left > 0 && length <= MOST_VISITS {
                let row = &rows[next];
                if row.care != Care::Plain {
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
                    if one.unit == open.unit {
                        // Loads come before the first store as long as there is none.
                        open.others += match open.accesses >> 32 {
                            0 => added,
                            _ => added & pair(0, u32::MAX),
                        };
                        open.accesses += one.accesses;
                    } else {
                        let last = &mut all[length - 1];
                        last.unit = open.unit;
                        last.loads = open.accesses as u32;
                        last.stores = (open.accesses >> 32) as u32;
                        last.loads_before_store = open.others as u32;
                        last.instructions = (open.others >> 32) as u32;
                        length += 1;
                        open = Open {
                            unit: one.unit,
                            accesses: one.accesses,
                            others: added,
                        };
                    }
                }
                carried += u64::from(row.tail) << 32;
                left -= 1;
            }
            room -= most - left;
            run -= most - left;
            if run > 0 {
                break if room == 0 || length > MOST_VISITS {
                    Stop::Done
                } else {
                    Stop::Foretold
                };
            }
            let Some(told) = head else { break Stop::Done };
            if room == 0 || length > MOST_VISITS {
                break Stop::Done;
            }

            // ---- what is told: it changes the tables, and is foretold then ----
            head = None;
            let path = told & PATH;
            // Which of the two it is cannot be foreseen: the one is looked up as the other is.
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
            let left = told & LEFT;
            if row.care != Care::Plain || (left != 0 && row.steps > 8) || left > LEFT_MASK {
                break Stop::Told(told);
            }
            if left != 0 {
                if left == LEFT_MASK {
                    match masks.get(masks_at) {
                        Some(&mask) if u32::from(mask) >> row.steps == 0 => row.mask = mask,
                        _ => break Stop::Told(told),
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
                break Stop::Special(number);
            }
            run = 1;
        };

        let last = &mut all[length - 1];
        last.unit = open.unit;
        last.loads = open.accesses as u32;
        last.stores = (open.accesses >> 32) as u32;
        last.loads_before_store = open.others as u32;
        last.instructions = (open.others >> 32) as u32;
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
