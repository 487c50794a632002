//! A web server beside a program that repeatedly requests contiguous memory.

use super::percent;
use super::setting::{ANYWHERE, MACHINE, Small, memory};
use super::web::Web;
use crate::failure::Failure;
use crate::papers::generated::{
    GeneratedTrace, Said, Saying, accesses, begin, map, run as switch, sweep, unmap,
};
use crate::papers::replay::{PaperReplay, took};
use crate::papers::{PaperSetting, Scale, Table};
use broadleaf_metrics::CellResult;

/// Requests to the server between two of the seeker's.
const fn between(scale: Scale) -> u64 {
    match scale {
        Scale::Tiny | Scale::Quick => 400,
        // The number grows with memory and with the size of extents.
        Scale::Full => 8 * 400,
    }
}

/// The number of extents that the seeker requests at a time.
const AT_A_TIME: u64 = 4;
/// The factor of requests while both run, over the requests before.
const LONGER: u64 = 4;
const WEB: u32 = 1;
const SEEKER: u32 = 2;
/// The address of the seeker's mappings.
const PLACE: u64 = 1 << 35;

pub(super) fn run(setting: &PaperSetting) -> Result<Vec<Table>, Failure> {
    let scale = setting.scale;
    let small = Small::at(scale);
    let sizes = small.extent_name;
    // The only size is the requested one, so that each request is for one extent.
    let sizes = format!("sizes={sizes}");
    let policies = ["daemon=cache", "daemon=contiguity"]
        .map(|daemon| setting.policy("navarro", &[&sizes, daemon]));
    let replay = PaperReplay {
        watch: setting.watch,
        doing: "concurrent",
        machine: MACHINE,
        policies: &policies.each_ref().map(String::as_str),
        limits: memory(small.memory, ANYWHERE),
        interim: vec![accesses(warm(scale))],
    };
    let outcome = replay.generated(GeneratedTrace::new(move || say(scale)))?;
    Ok(vec![table(
        setting,
        &small,
        &outcome.interim[0],
        &outcome.results,
    )])
}

const fn server(scale: Scale) -> (Web, u64) {
    let memory = Small::at(scale).memory;
    (Web::for_memory(memory), memory / (8 << 10))
}

/// Runs the server alone until memory is full.
fn warm(scale: Scale) -> Saying {
    let (server, requests) = server(scale);
    let mut serving = server.serves();
    let work = (0..requests).flat_map(move |_| serving.request());
    Box::new(begin(WEB, "web").chain(server.starts()).chain(work))
}

fn say(scale: Scale) -> Saying {
    let (server, requests) = server(scale);
    let extent = Small::at(scale).extent;
    let mut serving = server.serves();
    // The earlier requests repeat, and then more follow.
    let work = (0..(1 + LONGER) * requests).flat_map(move |number| {
        let mut said: Vec<Said> = Vec::new();
        if number == requests {
            said.extend(begin(SEEKER, "seeker"));
            said.push(switch(WEB));
        }
        if number >= requests && number % between(scale) == 0 {
            said.extend(seek(AT_A_TIME * extent));
        }
        said.extend(serving.request());
        said
    });
    Box::new(begin(WEB, "web").chain(server.starts()).chain(work))
}

/// Unmaps the seeker's memory, and requests as much again.
fn seek(bytes: u64) -> impl Iterator<Item = Said> {
    [switch(SEEKER), unmap(PLACE, bytes), map(PLACE, bytes)]
        .into_iter()
        .chain(sweep(PLACE, bytes, 0, 512))
        .chain([switch(WEB)])
}

fn table(
    setting: &PaperSetting,
    small: &Small,
    before: &[CellResult],
    after: &[CellResult],
) -> Table {
    let between = between(setting.scale);
    let mut table = Table::new(
        "Concurrent execution: a web server and a seeker of contiguity",
        format!(
            "{} MB of memory; after as many requests as memory has pages, a second program asks \
             for {AT_A_TIME} extents of {} in a row at every {between} requests, uses all \
             of them and gives them back before it asks again. Loss (estimated) is of both \
             together with the daemon over cache; the seeker does the same work in both.",
            small.memory >> 20,
            small.extent_name
        ),
        &[
            "daemon",
            "slides: satisfied",
            "requests",
            "satisfied",
            "pages read",
            "slides: loss",
            "loss",
        ],
    );
    let mut shares = [0.0; 2];
    let mut cycles = [0.0; 2];
    for policy in 0..2 {
        let (Some(earlier), Some(later)) = (&before[policy].memory, &after[policy].memory) else {
            continue;
        };
        let had = later.reservations - earlier.reservations;
        let refused = later.extents_refused - earlier.extents_refused;
        let asked = had + refused;
        shares[policy] = 100.0 * had as f64 / asked.max(1) as f64;
        cycles[policy] = took(&after[policy], setting)
            .since(took(&before[policy], setting))
            .cycles;
        let loss = 100.0 * (cycles[policy] / cycles[0] - 1.0);
        table.row([
            ["cache", "contiguity"][policy].to_owned(),
            ["3 %", "30 %"][policy].to_owned(),
            asked.to_string(),
            percent(shares[policy]),
            (later.file_pages_read - earlier.file_pages_read).to_string(),
            ["-", "3 %"][policy].to_owned(),
            if policy == 0 {
                super::none()
            } else {
                percent(loss)
            },
        ]);
    }
    claims(&mut table, shares, 100.0 * (cycles[1] / cycles[0] - 1.0));
    table
}

/// The slides' shares of satisfied requests, with cache and with the daemon, and the slowdown of
/// the server, in percent.
const SATISFIED: [f64; 2] = [3.0, 30.0];
const LOSS: f64 = 3.0;

/// Adds the claims on the shares of satisfied requests and on the slowdown.
fn claims(table: &mut Table, shares: [f64; 2], loss: f64) {
    table
        .direction(
            shares[0] <= SATISFIED[0] && shares[1] >= SATISFIED[1],
            "the daemon satisfies 30 percent of the requests for contiguity or more, cache alone 3 \
             percent or less",
        )
        .number(SATISFIED[0], shares[0], percent)
        .number(SATISFIED[1], shares[1], percent)
        .because("the slides do not say how often their seeker asked, nor for how much");
    table
        .direction(
            shares[1] > shares[0] && loss <= LOSS,
            "the daemon, where it satisfies more requests than cache, costs the server and the \
             seeker 3 percent or less",
        )
        .number(LOSS, loss, percent)
        .because(
            "waits for the disk are most of what the server takes, and the daemon takes unmapped \
                  pages",
        );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_does_nothing_shows_nothing() {
        let agree = |shares, loss| {
            let mut table = Table::default();
            claims(&mut table, shares, loss);
            [0, 1].map(|claim: usize| table.claims[claim].agrees)
        };
        assert_eq!(agree([0.0, 86.0], 0.7), [true, true]);
        assert_eq!(agree([0.0, 29.0], 3.1), [false, false]);
        assert_eq!(agree([5.0, 86.0], 0.7), [false, true]);
        assert_eq!(agree([0.0, 0.0], 0.0), [false, false]);
    }
}
