//! `info`: the contents of a trace.

mod family;
mod gather;
mod header;

pub use header::date;

use std::path::Path;

use broadleaf_report::number::{grouped, size};
use broadleaf_report::{Align, Grid, Style, View, paragraph, printable, signal};
use serde_json::{Value, json};

use crate::compare::not_canonical;
use crate::failure::Failure;
use crate::source::origin::PassCount;
use crate::source::{Trace, TraceReading, Whole};
use crate::watch::Watch;
use gather::{ProcessInfo, TraceContents};

/// The name and version of the JSON shape.
const SCHEMA: &str = "broadleaf.info/1";

/// The unit of a trace's visits.
fn grain_of(trace: &Trace) -> &'static str {
    if trace.grain().shift() == 12 {
        "page"
    } else {
        "line"
    }
}

/// A trace to describe.
#[derive(Debug)]
pub struct InfoRequest<'a> {
    /// The trace, or `-` for standard input.
    pub trace: &'a Path,
    /// Read a damaged trace up to the damage.
    pub keep_going: bool,
    /// The maximum number of accesses to read. `None` derives a limit from the file's size.
    pub max_accesses: Option<u64>,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
}

/// A trace that was read, with its contents.
pub struct TraceInfo {
    trace: Trace,
    contents: TraceContents,
}

/// Reads a trace and counts its contents.
///
/// # Errors
/// If the trace cannot be read, is damaged, or has addresses that no processor translates.
pub fn info(request: &InfoRequest<'_>) -> Result<TraceInfo, Failure> {
    let reading = TraceReading {
        ends: broadleaf_trace::VisitEnds::Units,
        passes: PassCount::One,
        keep_going: request.keep_going,
        fetches: true,
        max_accesses: request.max_accesses,
    };
    let mut trace = Trace::open(request.trace, reading, Whole::Work)?;
    let mut contents = TraceContents::new(trace.grain());
    let task = request.watch.begin("reading", trace.work());
    let meter = trace.meter();
    while let Some(item) = trace.next_item()? {
        contents.add(item);
        if let Some(page) = contents.untranslatable {
            drop(task);
            return Err(not_canonical(trace.name(), page << 12, Some(trace.place())));
        }
        task.set(meter.bytes(), contents.accesses());
        if request.watch.is_stopped() {
            return Err(Failure::failed("stopped"));
        }
    }
    drop(task);
    trace.finish()?;
    contents.processes = family::parents_first(contents.processes);
    Ok(TraceInfo { trace, contents })
}

impl TraceInfo {
    /// The description as tables.
    pub fn table(&self, view: View) -> String {
        table(&self.trace, &self.contents, view)
    }

    /// The description as JSON, whose shape `broadleaf.info/1` names.
    pub fn to_json(&self) -> Value {
        as_json(&self.trace, &self.contents)
    }
}

fn bytes_per_access(trace: &Trace, contents: &TraceContents) -> f64 {
    trace.meter().bytes() as f64 / contents.accesses().max(1) as f64
}

fn as_json(trace: &Trace, contents: &TraceContents) -> Value {
    let kinds: Vec<Value> = contents
        .mappings
        .iter()
        .map(|(kind, (count, bytes))| json!({ "backing": kind, "count": count, "bytes": bytes }))
        .collect();
    let misplaced: Vec<Value> = contents
        .misplaced
        .iter()
        .map(|(at, native)| json!({ "start": at.start.0, "bytes": at.len, "native": native.0 }))
        .collect();
    let processes: Vec<Value> = contents
        .processes
        .iter()
        .map(|process| {
            json!({ "pid": process.pid, "parent": process.parent, "command": process.command,
                    "accesses": process.accesses, "threads": threads(process),
                    "ended": process.ended, "exit_status": process.status })
        })
        .collect();
    let mut info = json!({
        "schema": SCHEMA,
        "trace": {
            "path": trace.name(),
            "hash": trace.hash(),
            "bytes": trace.meter().bytes(),
            "format": trace.format(),
            "version": trace.version(),
            "grain": grain_of(trace),
            "complete": trace.is_complete(),
            "damage": trace.damage(),
        },
        "header": trace.header().map(header::as_json),
        "accesses": contents.accesses(),
        "loads": contents.loads,
        "stores": contents.stores,
        "straddling": contents.straddling,
        "instructions": contents.instructions,
        "fetches": contents.fetches,
        "visits": contents.visits,
        "pages": contents.pages(),
        "bytes_per_access": bytes_per_access(trace, contents),
        "events": contents.events,
        "mappings": kinds,
        "files": contents.files,
        "misplaced": misplaced,
        "processes": processes,
        "windows": contents.windows.to_json(),
    });
    if let Some(system) = contents.system {
        info["system"] = json!({
            "kernel_address_accesses": system.kernel_addresses,
            "kernel_code_accesses": system.by_kernel,
            "page_faults": system.page_faults,
        });
    }
    info
}

fn table(trace: &Trace, contents: &TraceContents, view: View) -> String {
    let mut facts = Grid::new().column("", Align::Left).column("", Align::Left);
    let mut fact = |label: &str, text: String| facts.row([label.to_owned(), text]);
    for (label, text) in trace.header().into_iter().flat_map(header::facts) {
        fact(label, text);
    }
    fact("format", trace.format().to_owned());
    if let Some(version) = trace.version() {
        fact("version", version.to_string());
    }
    let bytes = size(trace.meter().bytes());
    let text = match contents.accesses() {
        0 => bytes.to_string(),
        _ => format!(
            "{bytes}, {:.3} bytes an access",
            bytes_per_access(trace, contents)
        ),
    };
    fact("size", text);
    if let Some(complete) = trace.is_complete() {
        fact("complete", if complete { "yes" } else { "no" }.to_owned());
    }
    if let Some(damage) = trace.damage() {
        fact("damage", format!("the trace {damage}"));
    }
    fact("hash", trace.hash().unwrap_or_default());
    fact(
        "accesses",
        format!(
            "{} ({} loads, {} stores); {} cross a boundary of {}",
            grouped(contents.accesses()),
            grouped(contents.loads),
            grouped(contents.stores),
            grouped(contents.straddling),
            format_args!("{}s", grain_of(trace)),
        ),
    );
    if let Some(system) = contents.system {
        fact(
            "system",
            format!(
                "{} accesses by the kernel's code, {} to the kernel's addresses; {} page faults",
                grouped(system.by_kernel),
                grouped(system.kernel_addresses),
                grouped(system.page_faults)
            ),
        );
    }
    if contents.instructions > 0 {
        fact("instructions", grouped(contents.instructions));
    }
    if contents.fetches > 0 {
        fact("fetches", grouped(contents.fetches));
    }
    if let Some(text) = contents.windows.recorded_share() {
        fact("recorded", text);
    }
    fact("visits", grouped(contents.visits));
    fact(
        "pages",
        format!(
            "{} ({})",
            grouped(contents.pages()),
            size(contents.pages() * 4096)
        ),
    );
    let events: Vec<String> = contents
        .events
        .iter()
        .map(|(name, count)| format!("{} {name}", grouped(*count)))
        .collect();
    fact(
        "events",
        if events.is_empty() {
            "none".to_owned()
        } else {
            events.join(", ")
        },
    );
    for (kind, (count, bytes)) in &contents.mappings {
        fact(
            "mapped",
            match *count {
                1 => format!("{kind}: once, {}", size(*bytes)),
                count => format!("{kind}: {} times, {} in all", grouped(count), size(*bytes)),
            },
        );
    }
    let mut out = format!("{}\n", view.paint.apply(Style::Strong, trace.name()));
    out.push_str(&facts.render(view));
    // A trace without events has one process without a name.
    if contents.processes.iter().any(|process| process.pid != 0) {
        out.push('\n');
        out.push_str(&processes(&contents.processes, contents.system.is_some()).render(view));
    }
    if !contents.misplaced.is_empty() {
        out.push('\n');
        out.push_str(&paragraph(
            "Mappings whose offset from a 2 MiB boundary differs from the offset of a native run:",
            Style::Plain,
            view,
        ));
        let mut grid = Grid::new()
            .column("recorded at", Align::Right)
            .column("bytes", Align::Right)
            .column("natively at", Align::Right);
        for (at, native) in &contents.misplaced {
            grid.row([
                format!("{:#x}", at.start.0),
                grouped(at.len),
                format!("{:#x}", native.0),
            ]);
        }
        out.push_str(&grid.render(view));
    }
    out
}

fn processes(processes: &[ProcessInfo], of_system: bool) -> Grid {
    let mut grid = Grid::new()
        .column("process", Align::Right)
        .column("parent", Align::Right)
        .column("threads", Align::Right)
        .column("accesses", Align::Right)
        .column("ended", Align::Left)
        .column("command", Align::Left);
    for process in processes {
        // Traces without events do not name their process.
        let number = |id: u32| {
            if id == 0 {
                "-".to_owned()
            } else {
                id.to_string()
            }
        };
        let ended = match (process.ended, process.status) {
            (false, _) => "-".to_owned(),
            // The end of a space in a guest shows no status.
            (true, None) if of_system => "yes".to_owned(),
            // The recorder knows every exit status, but signals only of the first process.
            (true, None) => "by a signal".to_owned(),
            (true, Some(status)) => ending(status),
        };
        grid.row([
            number(process.pid),
            number(process.parent),
            threads(process).to_string(),
            grouped(process.accesses),
            ended,
            shown(&process.command),
        ]);
    }
    grid
}

fn threads(process: &ProcessInfo) -> u64 {
    process.started.max(1)
}

/// An exit status as `wait` reports it, in words.
fn ending(status: i32) -> String {
    match status & 0x7f {
        0 => format!("exit {}", status >> 8 & 0xff),
        number => signal(number),
    }
}

/// A command as one line for a shell, cut if it is long.
pub(super) fn shown(command: &[String]) -> String {
    const LONGEST: usize = 120;
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &line[..cut]),
        None => line,
    }
}

/// A word, in quotes if a shell needs them.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_@%+=:,./-".contains(letter);
    // A command has one line of a table.
    let word = printable(word);
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_command_can_be_given_to_a_shell() {
        let show = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            shown(&words)
        };
        assert_eq!(
            show(&["redis-server", "--save", ""]),
            "redis-server --save ''"
        );
        assert_eq!(show(&["sh", "-c", "echo a; b"]), "sh -c 'echo a; b'");
        assert_eq!(show(&["it's"]), "'it'\\''s'");
        assert_eq!(show(&["a\nb"]), "'a?b'");
        assert!(show(&["x"; 200]).ends_with("..."));
    }
}
