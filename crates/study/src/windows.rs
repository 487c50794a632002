//! The windows of a recording: their places in the trace and in the program.

use std::collections::BTreeMap;
use std::path::Path;

use broadleaf_report::number::{grouped, percent};
use broadleaf_trace::{Border, Event, Item, WindowBorder, WindowPlan, WindowUnit};
use broadleaf_units::SpaceId;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;

/// A window that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedWindow {
    /// The address space of the process.
    pub space: SpaceId,
    /// The number of the window in its process, from 0.
    pub number: u64,
    /// Accesses of the process before the window, recorded or not.
    pub start: u64,
    /// Instructions of the process before the window.
    pub start_instructions: u64,
    /// Accesses of the window.
    pub accesses: u64,
}

/// Accesses of one window that follow each other in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowPart {
    /// Accesses of the trace before the stretch.
    pub(crate) from: u64,
    /// Accesses of the trace before the end of the stretch.
    pub(crate) to: u64,
    /// The index of the window.
    pub(crate) window: usize,
    /// Accesses of the window before the stretch.
    pub(crate) before: u64,
}

/// The windows of a trace, read item by item.
#[derive(Clone, Debug, Default)]
pub struct RecordedWindows {
    /// The windows, in the order of the trace.
    pub(crate) windows: Vec<RecordedWindow>,
    /// Their accesses, in the order of the trace.
    pub(crate) stretches: Vec<WindowPart>,
    /// Accesses of the trace so far.
    time: u64,
    space: SpaceId,
    /// The index of the present window of each space.
    open: BTreeMap<SpaceId, usize>,
    /// Accesses and instructions of each space, as of the last border.
    totals: BTreeMap<SpaceId, (u64, u64)>,
}

impl RecordedWindows {
    /// Reads the windows of a recording.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(crate) fn read(
        path: &Path,
        reading: TraceReading,
        watch: &dyn Watch,
    ) -> Result<Self, Failure> {
        let mut trace = Trace::open(path, reading, Whole::Work)?;
        let mut windows = Self::default();
        let task = watch.begin("reading windows", trace.work());
        let meter = trace.meter();
        while let Some(item) = trace.next_item()? {
            windows.add(&item);
            task.set(meter.bytes(), windows.time);
            if watch.is_stopped() {
                return Err(Failure::failed("stopped"));
            }
        }
        drop(task);
        trace.finish()?;
        Ok(windows)
    }

    /// Adds an item of the trace.
    pub(crate) fn add(&mut self, item: &Item<'_>) {
        match item {
            Item::Visits(visits) => {
                let data = visits.iter().filter(|visit| !visit.fetch);
                self.accesses(data.map(|visit| visit.accesses()).sum());
            }
            Item::Event(Event::SpaceSwitch(space)) => self.space = *space,
            Item::Event(Event::Window(border)) => self.border(border),
            Item::Event(_) => {}
        }
    }

    fn accesses(&mut self, count: u64) {
        let from = self.time;
        self.time += count;
        let Some(&window) = self.open.get(&self.space).filter(|_| count > 0) else {
            return;
        };
        let before = self.windows[window].accesses;
        self.windows[window].accesses += count;
        match self.stretches.last_mut() {
            Some(last) if last.to == from && last.window == window => last.to = self.time,
            _ => self.stretches.push(WindowPart {
                from,
                to: self.time,
                window,
                before,
            }),
        }
    }

    fn border(&mut self, border: &WindowBorder) {
        let WindowBorder {
            accesses,
            instructions,
            ..
        } = *border;
        self.totals.insert(self.space, (accesses, instructions));
        self.open.remove(&self.space);
        if let Border::Start(number) = border.border {
            self.open.insert(self.space, self.windows.len());
            self.windows.push(RecordedWindow {
                space: self.space,
                number,
                start: accesses,
                start_instructions: instructions,
                accesses: 0,
            });
        }
    }

    /// The accesses of all processes, each from the start of its first window on.
    pub(crate) fn accesses_from_first(&self) -> u64 {
        let mut first = BTreeMap::new();
        for window in &self.windows {
            first.entry(window.space).or_insert(window.start);
        }
        // A recording that was cut short ends inside its last window.
        let end = |space: &SpaceId| {
            let of_space = self.windows.iter().filter(|window| window.space == *space);
            let recorded = of_space.map(|window| window.start.saturating_add(window.accesses));
            let told = self.totals.get(space).map_or(0, |total| total.0);
            recorded.max().unwrap_or(0).max(told)
        };
        let lengths = first
            .iter()
            .map(|(space, start)| end(space).saturating_sub(*start));
        lengths.fold(0, u64::saturating_add)
    }

    /// A sentence on the share of the program that was recorded; `None` without windows.
    pub(crate) fn recorded_share(&self) -> Option<String> {
        if self.totals.is_empty() {
            return None;
        }
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        let all = sum(&mut self.totals.values().map(|total| total.0));
        let recorded = sum(&mut self.windows.iter().map(|window| window.accesses));
        Some(format!(
            "{} of {} accesses ({}), in {} windows",
            grouped(recorded),
            grouped(all.max(recorded)),
            percent(recorded as f64 / all.max(recorded).max(1) as f64),
            grouped(self.windows.len() as u64),
        ))
    }

    /// The windows as JSON; null without windows.
    pub(crate) fn to_json(&self) -> Value {
        if self.totals.is_empty() {
            return Value::Null;
        }
        let windows = self.windows.iter().map(|window| {
            json!({
                "space": window.space.0,
                "window": window.number,
                "start": window.start,
                "start_instructions": window.start_instructions,
                "accesses": window.accesses,
            })
        });
        let totals = self.totals.iter().map(|(space, total)| {
            json!({ "space": space.0, "accesses": total.0, "instructions": total.1 })
        });
        json!({ "windows": windows.collect::<Vec<_>>(), "programs": totals.collect::<Vec<_>>() })
    }
}

/// Warns that a command counts only what was recorded, if a trace holds windows of a program.
pub(crate) fn warn_of_windows(trace: &Trace) {
    if let Some(plan) = trace.header().and_then(|header| header.windows) {
        log::warn!(
            "{}: holds windows of the program ({}): only what was recorded counts",
            trace.name(),
            sentence(&plan)
        );
    }
}

/// Refuses a trace that holds windows of a program.
///
/// # Errors
/// [`Failure::Wrong`] with the `reason`.
pub(crate) fn refuse_windows(trace: &Trace, reason: &str) -> Result<(), Failure> {
    match trace.header().and_then(|header| header.windows) {
        None => Ok(()),
        Some(plan) => Err(Failure::Wrong(format!(
            "{}: holds windows of the program ({}), {reason}",
            trace.name(),
            sentence(&plan)
        ))),
    }
}

const fn unit(plan: &WindowPlan) -> &'static str {
    match plan.unit {
        WindowUnit::Accesses => "accesses",
        WindowUnit::Instructions => "instructions",
        WindowUnit::Microseconds => "microseconds",
    }
}

/// A sentence on the windows that a recording was asked for.
pub(crate) fn sentence(plan: &WindowPlan) -> String {
    let amount = |number: u64| match plan.unit {
        WindowUnit::Microseconds => format!("{} s", number as f64 / 1e6),
        _ => format!("{} {}", grouped(number), unit(plan)),
    };
    let each = match (plan.length, plan.every) {
        (0, _) => "one window, to the end".to_owned(),
        (length, 0) => format!("one window of {}", amount(length)),
        (length, every) => format!("{} of every {}", amount(length), amount(every)),
    };
    match plan.skip {
        0 => each,
        skip => format!("{each}, after {}", amount(skip)),
    }
}

pub(crate) fn plan_json(plan: &WindowPlan) -> Value {
    let some = |number: u64| Some(number).filter(|&number| number > 0);
    json!({
        "unit": unit(plan),
        "skip": plan.skip,
        "for": some(plan.length),
        "every": some(plan.every),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::Visit;

    fn border(border: Border, accesses: u64) -> Event {
        Event::Window(WindowBorder {
            border,
            accesses,
            instructions: 3 * accesses,
        })
    }

    #[test]
    fn windows_of_two_processes_interleave() {
        let (one, two) = (SpaceId(0), SpaceId(1));
        let mut windows = RecordedWindows::default();
        let add = |windows: &mut RecordedWindows, events: &[Event], loads: u32| {
            for event in events {
                windows.add(&Item::Event(event));
            }
            let visit = Visit {
                loads,
                loads_before_store: loads,
                ..Visit::default()
            };
            windows.add(&Item::Visits(&[visit]));
        };
        add(&mut windows, &[border(Border::Start(0), 100)], 5);
        let switch = [Event::SpaceSwitch(two), border(Border::Start(0), 0)];
        add(&mut windows, &switch, 7);
        add(&mut windows, &[Event::SpaceSwitch(one)], 3);
        let next = [border(Border::End, 108), border(Border::Start(1), 200)];
        add(&mut windows, &next, 2);
        windows.add(&Item::Event(&border(Border::Total, 202)));
        let found: Vec<_> = (windows.windows.iter())
            .map(|window| (window.space, window.number, window.start, window.accesses))
            .collect();
        assert_eq!(found, [(one, 0, 100, 8), (two, 0, 0, 7), (one, 1, 200, 2)]);
        let stretches: Vec<_> = (windows.stretches.iter())
            .map(|part| (part.from, part.to, part.window, part.before))
            .collect();
        let expected = [(0, 5, 0, 0), (5, 12, 1, 0), (12, 15, 0, 5), (15, 17, 2, 0)];
        assert_eq!(stretches, expected);
        // The second process was cut short in its window.
        assert_eq!(windows.accesses_from_first(), 102 + 7);
    }

    #[test]
    fn plans_are_sentences() {
        let plan = |unit, skip, length, every| {
            sentence(&WindowPlan {
                unit,
                skip,
                length,
                every,
            })
        };
        use WindowUnit::{Accesses, Instructions, Microseconds};
        assert_eq!(
            plan(Accesses, 1000, 20, 500),
            "20 accesses of every 500 accesses, after 1,000 accesses"
        );
        let text = plan(Instructions, 0, 20, 0);
        assert_eq!(text, "one window of 20 instructions");
        let text = plan(Microseconds, 2_500_000, 0, 0);
        assert_eq!(text, "one window, to the end, after 2.5 s");
    }
}
