//! Call stacks of the allocations that gain, as `perf script` prints samples.

use broadleaf_metrics::RangeAdvice;

use super::sites::{folded_name, frame_of};
use crate::printable;

/// The name of the event whose count is the number of cycles gained.
const EVENT: &str = "cycles-gained";
/// A part that is not known, as perf writes it.
const UNKNOWN: &str = "[unknown]";

/// Returns an event for each site that gains, in the form of `perf script`: a head with the
/// program, its process, a time, the cycles gained and the event, then the frames, the allocator
/// first. A trace holds names and no addresses, and a site has no time: both are 0.
pub fn perf_script(advice: &RangeAdvice) -> String {
    let (program, pid) = program_of(advice);
    let mut out = String::new();
    for site in advice.sites.iter().filter(|site| site.cycles_gained > 0) {
        // perf pads the names of programs to this width.
        let gained = site.cycles_gained;
        out.push_str(&format!(
            "{program:<16} {pid:>6} 0.000000: {gained:>10} {EVENT}:\n"
        ));
        let allocator = (folded_name(&site.allocator), String::new());
        let frames = site.frames.iter().map(frame_of);
        for (name, place) in std::iter::once(allocator).chain(frames) {
            let place = match place.as_str() {
                "" => UNKNOWN.to_owned(),
                // A blank would end the file's name.
                place => place.replace(char::is_whitespace, "_"),
            };
            out.push_str(&format!("\t{:>16} {name} ({place})\n", 0));
        }
        out.push('\n');
    }
    out
}

/// Returns the name and the number of the process, if all ranges are of one process. Otherwise
/// returns the trace's name and 0.
fn program_of(advice: &RangeAdvice) -> (String, u32) {
    let mut ranges = advice.ranges.iter();
    let first = ranges.next();
    let one = first.filter(|first| ranges.all(|range| range.space == first.space));
    let path = one.map_or(&*advice.trace.path, |range| range.program());
    let name = path.rsplit('/').next().unwrap_or_default();
    let pid = one.and_then(|range| range.pid).unwrap_or(0);
    match name {
        "" => (UNKNOWN.to_owned(), pid),
        name => (printable(name), pid),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{advice, heap};
    use super::*;
    use crate::folded;
    use broadleaf_metrics::{AdvisedFrame, AdvisedRange, AdvisedSite};
    use inferno::collapse::Collapse;
    use inferno::collapse::perf::Folder;

    fn sites() -> Vec<AdvisedSite> {
        let frame = |function: &str, file: &str, line| AdvisedFrame {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
        };
        let site = |function: &str, gained| AdvisedSite {
            allocator: "operator new".to_owned(),
            frames: vec![
                frame(function, "/a/x.c", 7),
                frame("", "/lib/b.so", 0),
                frame("main", "/a/x.c", 3),
            ],
            cycles_gained: gained,
            ..AdvisedSite::default()
        };
        vec![site("hot<int>(a; b)", 90), site("loss", -5), site("f", 8)]
    }

    #[test]
    fn a_site_is_an_event_with_its_frames() {
        let range = AdvisedRange {
            pid: Some(4711),
            command: vec!["/bin/my program".to_owned()],
            ..heap()
        };
        let mut advice = advice(vec![range]);
        advice.sites = sites();
        let text = perf_script(&advice);
        let first = text.split("\n\n").next().expect("an event");
        let lines: Vec<&str> = first.lines().collect();
        assert_eq!(
            lines,
            [
                "my program         4711 0.000000:         90 cycles-gained:",
                "\t               0 operator new ([unknown])",
                "\t               0 hot<int>(a: b) (x.c:7)",
                "\t               0 b.so ([unknown])",
                "\t               0 main (x.c:3)",
            ]
        );
        assert_eq!(text.matches(EVENT).count(), 2, "a loss is no event");
        advice.ranges.push(AdvisedRange { space: 9, ..heap() });
        advice.trace.path = "/tmp/x.bl".to_owned();
        assert!(perf_script(&advice).starts_with("x.bl                  0 0.000000: "));
    }

    /// A tool that reads perf finds the stacks below the program's name. The cycles are the counts.
    #[test]
    fn a_reader_of_perf_script_counts_the_cycles() {
        let mut advice = advice(vec![AdvisedRange {
            command: vec!["/bin/x".to_owned()],
            ..heap()
        }]);
        advice.sites = sites();
        let mut folder = Folder::default();
        let mut out = Vec::new();
        let events = perf_script(&advice);
        folder
            .collapse(events.as_bytes(), &mut out)
            .expect("it reads");
        let mut lines: Vec<&str> = std::str::from_utf8(&out).expect("text").lines().collect();
        lines.sort_unstable();
        let wanted = [
            "x;main;b.so;f;operator new 8",
            "x;main;b.so;hot<int>;operator new 90",
        ];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn events_fold_to_the_folded_stacks() {
        let mut advice = advice(vec![heap()]);
        advice.sites = sites();
        let mut again = String::new();
        for event in perf_script(&advice).split_terminator("\n\n") {
            let (head, frames) = event.split_once('\n').expect("a head");
            let count = head.split_whitespace().rev().nth(1).expect("a count");
            let mut stack: Vec<String> = Vec::new();
            for line in frames.lines().rev() {
                let (_, symbol) = line.trim_start().split_once(' ').expect("an address");
                stack.push(symbol.trim_end_matches(" ([unknown])").to_owned());
            }
            again.push_str(&format!("{} {count}\n", stack.join(";")));
        }
        assert_eq!(again, folded(&advice));
    }
}
