//! `paper zhu2018`: the tables of recorded programs, and a second run that repeats nothing.

use std::fs;

use crate::support::{folder, run, stderr, succeeded};

/// The cells of a row.
fn row(csv: &str, start: &str) -> Vec<String> {
    let line = csv.lines().find(|line| line.starts_with(start));
    let cells = line.expect("a row").split(',').map(str::to_owned);
    cells.collect()
}

#[test]
fn the_policies_of_zhu_are_compared_on_recorded_programs() {
    let folder = folder("paper-zhu");
    let out = folder.join("tables");
    let name = out.to_str().expect("a name");
    let arguments = ["paper", "zhu2018", "--tiny", "-o", name];
    let text = succeeded(&run(&arguments));
    let last = text.lines().last().expect("a last line");
    assert!(last.contains(" claims agree with the thesis"), "{last}");
    // The chases of chapter 4 find the thesis's TLBs, whatever is recorded.
    for claim in [
        "  agrees: chases find entries, ways and index functions",
        "  agrees: the second level is neither inclusive nor exclusive",
        "  not shown: for derby, pop-256 and then dirty-256",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
    let csv = |table: &str| fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
    // Five programs need a compiler alone; the figures have a row of means too.
    for (table, heads, rows) in [
        ("table-4-1", "structure,entries: thesis,here,", 4),
        ("programs", "program,kind,thesis's,reservations: thesis,", 5),
        ("figure-4-4", "window,accesses,DTLB: 4K-user,", 400),
        ("figure-4-6", "window,accesses,DTLB: 4K-user,", 400),
        ("figure-5-1", "threshold,blocks above,", 14),
        (
            "figure-6-1",
            "program,thesis's,freebsd,foresight,greedy,",
            6,
        ),
        (
            "figure-6-2",
            "program,thesis's,freebsd,foresight,greedy,",
            6,
        ),
        (
            "figure-6-3",
            "program,thesis's,freebsd,foresight,greedy,",
            6,
        ),
        (
            "figure-6-4",
            "program,thesis's,freebsd,foresight,greedy,",
            6,
        ),
        (
            "figure-6-5",
            "program,thesis's,freebsd,foresight,greedy,",
            6,
        ),
        (
            "figure-6-6",
            "program,thesis's,freebsd,foresight,greedy,",
            6,
        ),
        (
            "figure-6-7",
            "program,thesis's,freebsd,foresight,greedy,",
            6,
        ),
        ("table-6-3", "program,thesis's,thesis,here,", 5),
        ("table-6-4", "DTLB,FreeBSD: thesis,here,pop-64: thesis,", 3),
        ("table-6-5", "policy,thesis,DTLB misses,", 18),
        ("by-reservation", "policy,faults saved,", 17),
        ("broken", "program,reservations,broken: greedy,", 6),
        ("miss-rates", "TLB,FreeBSD: thesis,", 2),
        ("guest-programs", "program,thesis's,references: user", 0),
        (
            "guest-policies",
            "program,policy,DTLB misses: user,guest,",
            0,
        ),
        ("not-produced", "part,reason", 9),
    ] {
        let csv = csv(table);
        assert!(csv.starts_with(heads), "{csv}");
        assert_eq!(csv.lines().count(), rows + 1, "{csv}");
    }
    // Table 6.5 has the thesis's number before ours, and FreeBSD is the unit.
    let means = csv("table-6-5");
    assert_eq!(
        row(&means, "FreeBSD,")[1..5],
        ["1.00", "1.00", "1.00", "1.00"]
    );
    let greedy = row(&means, "greedy,");
    assert_eq!(
        [&*greedy[1], &*greedy[3], &*greedy[9]],
        ["0.53", "0.15", "128.48"]
    );
    // The more populated pages a promotion needs, the more walks are left.
    let walks = |policy: &str| -> f64 { row(&means, policy)[6].parse().expect("a ratio") };
    let pop = ["greedy,", "pop-64,", "pop-256,", "pop-509,"].map(walks);
    assert!(pop.is_sorted() && pop[0] < 1.0, "{means}");
    // The accesses of a program's blocks are those of the program.
    for program in [
        "network-1",
        "gcc-1",
        "simplex-500",
        "pagerank-1",
        "updates-1",
    ] {
        let kept = out.join(format!("zhu2018-{program}.results.json"));
        let kept = fs::read_to_string(kept).expect("results");
        let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
        let blocks = kept["blocks"].as_array().expect("blocks").iter();
        let accesses: u64 = blocks.filter_map(|block| block["accesses"].as_u64()).sum();
        assert_eq!(Some(accesses), kept["references"].as_u64(), "{program}");
    }

    // Nothing is recorded or replayed again, and the same bytes come out.
    let recording = out.join("zhu2018-updates-1.bl");
    assert!(recording.exists() && recording.with_extension("results.json").exists());
    let again = run(&[&arguments[..], &["--force"]].concat());
    assert_eq!(succeeded(&again), text);
    assert!(stderr(&again).contains("zhu2018-updates-1 is recorded already"));
    assert!(!stderr(&again).contains("recording zhu2018"));
}
