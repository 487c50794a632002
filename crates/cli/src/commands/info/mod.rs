//! `info`: what a trace holds.

mod family;
mod gather;
mod header;

use broadleaf_report::number::{grouped, size};
use broadleaf_report::{Align, Grid, Style, View, paragraph, printable, signal};
use serde_json::{Value, json};

use crate::args::{Info, TableOrJson};
use crate::progress::Progress;
use broadleaf_study::compare::not_canonical;
use broadleaf_study::failure::Failure;
use broadleaf_study::output::{json, print};
use broadleaf_study::source::origin::PassCount;
use broadleaf_study::source::{Trace, TraceReading, Whole};
use gather::{Gathered, Process};

/// The name and version of the shape of the JSON answer.
const SCHEMA: &str = "broadleaf.info/1";

pub(crate) fn run(options: &Info, view: View) -> Result<(), Failure> {
    let reading = TraceReading {
        passes: PassCount::One,
        keep_going: options.keep_going,
        fetches: true,
        max_accesses: options.bound.max_accesses,
    };
    let mut trace = Trace::open(&options.trace, reading, Whole::Work)?;
    let mut gathered = Gathered::new(trace.grain());
    let bar = Progress::new("reading", trace.work());
    let meter = trace.meter();
    while let Some(item) = trace.next_item()? {
        gathered.add(item);
        if let Some(page) = gathered.untranslatable {
            drop(bar);
            return Err(not_canonical(trace.name(), page << 12, Some(trace.place())));
        }
        bar.set(meter.bytes(), gathered.accesses());
    }
    drop(bar);
    trace.finish()?;
    gathered.processes = family::parents_first(gathered.processes);
    match options.format {
        TableOrJson::Table => print(&table(&trace, &gathered, view)),
        TableOrJson::Json => print(&json(&as_json(&trace, &gathered))?),
    }
}

fn bytes_per_access(trace: &Trace, gathered: &Gathered) -> f64 {
    trace.meter().bytes() as f64 / gathered.accesses().max(1) as f64
}

fn as_json(trace: &Trace, gathered: &Gathered) -> Value {
    let kinds: Vec<Value> = gathered
        .mappings
        .iter()
        .map(|(kind, (count, bytes))| json!({ "backing": kind, "count": count, "bytes": bytes }))
        .collect();
    let misplaced: Vec<Value> = gathered
        .misplaced
        .iter()
        .map(|(at, native)| json!({ "start": at.start.0, "bytes": at.len, "native": native.0 }))
        .collect();
    let processes: Vec<Value> = gathered
        .processes
        .iter()
        .map(|process| {
            json!({ "pid": process.pid, "parent": process.parent, "command": process.command,
                    "accesses": process.accesses, "threads": threads(process),
                    "ended": process.ended, "exit_status": process.status })
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "trace": {
            "path": trace.name(),
            "hash": trace.hash(),
            "bytes": trace.meter().bytes(),
            "format": trace.format(),
            "version": trace.version(),
            "grain": if trace.grain().shift() == 12 { "page" } else { "line" },
            "complete": trace.is_complete(),
            "damage": trace.damage(),
        },
        "header": trace.header().map(header::as_json),
        "accesses": gathered.accesses(),
        "loads": gathered.loads,
        "stores": gathered.stores,
        "straddling": gathered.straddling,
        "instructions": gathered.instructions,
        "fetches": gathered.fetches,
        "visits": gathered.visits,
        "pages": gathered.pages(),
        "bytes_per_access": bytes_per_access(trace, gathered),
        "events": gathered.events,
        "mappings": kinds,
        "files": gathered.files,
        "misplaced": misplaced,
        "processes": processes,
    })
}

fn table(trace: &Trace, gathered: &Gathered, view: View) -> String {
    let mut facts = Grid::new().column("", Align::Left).column("", Align::Left);
    let mut fact = |label: &str, text: String| facts.row([label.to_owned(), text]);
    for (label, text) in trace.header().into_iter().flat_map(header::facts) {
        fact(label, text);
    }
    fact("format", trace.format().to_owned());
    if let Some(version) = trace.version() {
        fact("version", version.to_string());
    }
    fact(
        "size",
        format!(
            "{}, {:.3} bytes an access",
            size(trace.meter().bytes()),
            bytes_per_access(trace, gathered)
        ),
    );
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
            "{} ({} loads, {} stores); {} cross a page boundary",
            grouped(gathered.accesses()),
            grouped(gathered.loads),
            grouped(gathered.stores),
            grouped(gathered.straddling)
        ),
    );
    if gathered.instructions > 0 {
        fact("instructions", grouped(gathered.instructions));
    }
    if gathered.fetches > 0 {
        fact("fetches", grouped(gathered.fetches));
    }
    fact("visits", grouped(gathered.visits));
    fact(
        "pages",
        format!(
            "{} ({})",
            grouped(gathered.pages()),
            size(gathered.pages() * 4096)
        ),
    );
    let events: Vec<String> = gathered
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
    for (kind, (count, bytes)) in &gathered.mappings {
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
    // A trace without events has accesses of one process without a name.
    if gathered.processes.iter().any(|process| process.pid != 0) {
        out.push('\n');
        out.push_str(&processes(&gathered.processes).render(view));
    }
    if !gathered.misplaced.is_empty() {
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
        for (at, native) in &gathered.misplaced {
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

fn processes(processes: &[Process]) -> Grid {
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
            // The recorder knows every exit status, and the signals of the first process alone.
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

fn threads(process: &Process) -> u64 {
    process.started.max(1)
}

/// An exit status as `wait` reports it, in words.
fn ending(status: i32) -> String {
    match status & 0x7f {
        0 => format!("exit {}", status >> 8 & 0xff),
        number => signal(number),
    }
}

/// A command on one line, as a shell would take it, cut where it is long.
pub(super) fn shown(command: &[String]) -> String {
    const LONGEST: usize = 120;
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &line[..cut]),
        None => line,
    }
}

/// A word in quotes, where a shell would take it for something else without.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_@%+=:,./-".contains(letter);
    // A table has one line for a command.
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
