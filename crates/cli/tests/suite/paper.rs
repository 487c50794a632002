//! `paper`: every experiment prints, and its directions are the paper's.

use std::fs;

use crate::support::{folder, refused, run, stderr, succeeded};

#[test]
fn the_directions_of_navarro_are_seen_again() {
    let folder = folder("paper-navarro");
    let out = folder.join("tables");
    let name = out.to_str().expect("a name");
    let arguments = ["paper", "navarro2002", "--tiny", "-o", name];
    let output = run(&arguments);
    let text = succeeded(&output);
    // There is no bar on a pipe.
    let next = "broadleaf: next: broadleaf paper navarro2002 --full -o navarro2002\n";
    assert_eq!(stderr(&output), next);
    let apart: Vec<&str> = (text.lines())
        .filter_map(|line| line.trim_start().strip_prefix("does not agree: "))
        .collect();
    let expected = [
        "vpr does best with 512k alone",
        "fft does best with 4m alone",
        "a sequential program (cmp) gets superpages, and loses less than 1 percent",
    ];
    assert_eq!(apart.len(), expected.len(), "{text}");
    for (line, start) in apart.iter().zip(expected) {
        assert!(line.starts_with(start), "{line}");
    }
    for (table, heads) in [
        ("best-case", "program,represents,slides,"),
        ("page-sizes", "program,slides: best,64k,512k,4m,all,"),
        ("sustained", "run,slides,cache: extents,"),
        ("mechanisms", "mechanism,measured,better,with,without"),
        ("mesa", "pages,zeroed in faults,"),
        ("page-coloring", "policy,pages in superpages,"),
        ("too-small", "superpages,misses spared,"),
        ("very-large", "superpages,largest,promotions,"),
        ("claims", "table,claim,agrees,paper,here,reason"),
        ("concurrent", "daemon,slides: satisfied,requests,satisfied,"),
        ("adversaries", "program,slides: slowdown,slowdown,"),
        (
            "demotion",
            "dirty superpages,slides,demotions,pages to write,",
        ),
    ] {
        let csv = fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
        assert!(csv.starts_with(heads) && csv.lines().count() > 2, "{csv}");
    }
    let whole = fs::read_to_string(out.join("navarro2002.txt")).expect("all of it");
    assert_eq!(whole, text);

    // Existing files stay without `--force`. With `--force`, tables are written again: here those
    // of a processor that waits longer for each access, and gains less.
    let line = refused(&run(&arguments));
    assert!(line.contains("best-case.csv"), "{line}");
    let slower = ["--force", "--cycles-per-access", "15"];
    let again = succeeded(&run(&[&arguments[..], &slower].concat()));
    assert!(mean_speedup(&again) < mean_speedup(&text), "{again}");
    let whole = fs::read_to_string(out.join("navarro2002.txt")).expect("all of it");
    assert_eq!(whole, again);
}

/// The mean of the speedups with all sizes.
fn mean_speedup(text: &str) -> f64 {
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("mean"));
    let last = line.and_then(|line| line.split_whitespace().last());
    let figure = last.and_then(|cell| cell.strip_suffix('x'));
    let figure = figure.and_then(|figure| figure.parse().ok());
    figure.expect("a mean")
}

#[test]
#[ignore = "takes as long as all other papers: tests/hard/book runs it"]
fn a_second_run_prints_the_same() {
    for paper in ["navarro2002", "romer1995"] {
        let text = || succeeded(&run(&["paper", paper, "--tiny"]));
        assert_eq!(text(), text());
    }
}

#[test]
fn the_directions_of_romer_are_seen_again() {
    let folder = folder("paper-romer");
    let out = folder.join("tables");
    let name = out.to_str().expect("a name");
    let text = succeeded(&run(&["paper", "romer1995", "--tiny", "-o", name]));
    // Programs of a mebibyte have no working set that 32 pages of 64 KiB do not reach across, and
    // end before what copying costs is won back.
    let apart: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            let line = line.trim_start();
            (line.strip_prefix("does not agree: ")).or_else(|| line.strip_prefix("not shown: "))
        })
        .collect();
    assert!(
        text.contains("\n  not shown: where capacity charges change results"),
        "{text}"
    );
    let small = [
        "in all programs, misses with small pages take 5 percent of the time or more",
        "in all programs, offline spares more than half",
        "asap does poorly for coral",
        "pages of at most 64 KiB are too small for coral and fpga",
        "in all programs, offline is faster than base pages",
        "in 9 of 10 programs or more, asap is faster than base pages",
        "in 9 of 10 programs or more, asap-4-64 is faster than base pages",
        "in 8 of 10 programs or more, online is faster than base pages",
        "in 9 of 10 programs or more, approx-online is faster than base pages",
        "in all programs, offline is below 4 KiB and 16 KiB",
        "in 8 of 10 programs or more, online is below 4 KiB",
        "in 9 of 10 programs or more, approx-online is below 4 KiB",
        "approx-online is below asap-4-64 for coral",
        "online and approx-online take more than 2 percent",
        "in 4 of 10 programs or more, asap-4-64 takes 5 percent more memory",
        "in all programs, approx-online is ahead of asap-4-64",
        "in 9 of 10 programs or more, approx-online is within 0.10 of offline",
        "99 percent of the pieces that offline leaves have fewer than 0.125 R",
        "the counters of online take 33 KB or less",
        "where capacity charges change results, their reset changes these",
    ];
    assert_eq!(apart.len(), small.len(), "{apart:?}");
    for (line, start) in apart.iter().zip(small) {
        assert!(line.starts_with(start), "{line}");
    }
    let last = text.lines().last().expect("a last line");
    assert_eq!(
        last,
        "46 of 66 claims agree with the paper; 1 claim is not shown."
    );
    for (table, heads) in [
        ("table-2", "program,whose,accesses (millions),"),
        ("table-3", "policy,paper,here\n"),
        ("table-4", "program,whose,4k,16k,64k,offline,asap,"),
        ("table-5", "program,whose,16k,64k,offline,asap,"),
        ("table-5-recomputed", "program,16k: paper,16k: recomputed,"),
        ("table-6", "program,whose,4k,8k,"),
        ("figure-1", "program,whose,series,4k,8k,"),
        (
            "figure-3",
            "program,whose,policy,misses,bookkeeping,copying,",
        ),
        ("figure-2", "superpage,8,1,7,6,5,0,1,"),
        ("bound", "threshold (of R),bound,"),
        ("thresholds", "program,whose,pieces,prefetch charges,"),
        ("counters", "policy,8 MB in use,counters,bytes,"),
        ("sensitivity", "program,whose,4k,0.031 R,"),
        ("mechanisms", "mechanism,policy,without it,"),
        ("figure-4", "program,whose,16k,64k,"),
        ("figure-5", "program,whose,series,4k,16k,64k,256k,"),
    ] {
        let csv = fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
        assert!(csv.starts_with(heads) && csv.lines().count() > 2, "{csv}");
        assert!(!csv.contains("mmm"), "bars are no figures: {csv}");
    }
    let row = |table: &str, start: &str| -> Vec<String> {
        let csv = fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
        let line = csv.lines().find(|line| line.starts_with(start));
        let cells = line.expect("a row").split(',').map(str::to_owned);
        cells.collect()
    };
    // Each mechanism leaves at most half of its figure: with it turned off, the two last cells are
    // equal, and the claim fails.
    let mechanisms = fs::read_to_string(out.join("mechanisms.csv")).expect("a table");
    for line in mechanisms.lines().skip(1) {
        let cells: Vec<&str> = line.rsplit(',').collect();
        let [without, with] = [0, 1].map(|at| cells[at].parse::<u64>().expect("a figure"));
        assert!(without > 0 && 2 * with <= without, "{line}");
    }
    // Figures that follow from the paper alone.
    assert_eq!(row("table-3", "online,"), ["online", "2600", "2600"]);
    assert_eq!(
        row("table-5-recomputed", "coral,")[1..],
        ["10.0", "10.0", "22.9", "22.9"]
    );
    assert_eq!(
        row("table-5-recomputed", "spice,")[1..],
        ["1.1", "10.1", "1.3", "11.5"]
    );
    // Elimination goes through columns in order, so that 25,000 misses make all of them superpages,
    // as in the paper.
    let published = row("table-4", "nasa7-5,paper");
    assert_eq!(row("table-4", "nasa7-5,kernel")[8..], published[8..]);
}

#[test]
fn the_figures_of_talluri_follow_from_its_models_and_misses() {
    let folder = folder("paper-talluri");
    let out = folder.join("tables");
    let name = out.to_str().expect("a name");
    let text = succeeded(&run(&["paper", "talluri1995", "--tiny", "-o", name]));
    let last = text.lines().last().expect("a last line");
    assert!(last.ends_with(" claims agree with the thesis."), "{last}");
    // The claims on recorded programs come after the 18 that follow from the thesis's own inputs.
    let models = text.split("\nRecorded programs\n").next().expect("tables");
    assert_eq!(models.matches("  agrees: ").count(), 18, "{text}");
    assert!(!models.contains("does not agree"), "{text}");
    for figures in [
        "agrees: 42 of 42 numbers of blocks are the printed ones",
        "agrees: 72 of 80 relative areas are the printed ones; 8 are misprints",
        "agrees: each of the 4826 recomputable speedups is within 0.0007",
        "agrees: 353 of 360 match as printed, for misses that round to those of Appendix J",
        "agrees: 35 of 40 reductions match, for misses that round to those of Appendix J",
        "agrees: 49 of 50 figures are the printed ones; 1 is a misprint",
        "agrees: 10 of 10 printed figures are at least the ratio of 57 and 64 blocks",
        "agrees: 9 of 11 rows agree within the rounding of the printed figures",
        "agrees: fitted surrogate: fully associative ratios are within 0.028",
        "agrees: fitted surrogate: 4-way ratios are within 0.0113",
    ] {
        assert!(text.contains(figures), "{figures}: {text}");
    }
    assert!(text.contains("Scale: tiny"), "{text}");
    for (table, heads, rows) in [
        (
            "equal-areas",
            "table,reference,area in rbe,whose,single,",
            12,
        ),
        ("relative-areas", "TLBs,table,blocks,whose,2,4,8,16", 40),
        ("access-times", "TLBs,table,blocks,whose,2,4,8,16", 132),
        ("valid-bits", "blocks,whose,2,4,8,16", 12),
        ("multiplexors", "blocks,whose,2,4,8,16", 12),
        ("measured-programs", "program,whose,% of user time", 20),
        ("ideal-times", "program,whose,s: 30,", 20),
        ("sensitivity", "cycles,whose,sp_fa_b128,", 9),
        ("headline", "TLB,thesis,here", 4),
        ("chapters", "table,row,whose,1,2,", 120),
        ("appendix-i", "subject,table,cells,recomputable,", 60),
        (
            "appendix-i-cells",
            "table,TLB,relative to,whose,coral,",
            882,
        ),
        ("critical-penalties", "table,TLB,match,", 36),
        ("preloading", "program,whose,2,4,8,16", 20),
        ("coverage", "thesis,how,tables here,", 28),
        ("linear-lines", "program,\"7-3, linear\",", 10),
        ("clustered-memory", "program,\"7-7, clustered\",", 11),
    ] {
        let csv = fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
        assert!(csv.starts_with(heads), "{csv}");
        assert_eq!(csv.lines().count(), rows + 1, "{table}");
    }
    // The cells of Appendix I are for files: the text says how many there are.
    assert!(
        text.contains("\n882 rows, which -o FOLDER writes.\n"),
        "{text}"
    );
    // The recorded programs: each policy sees all references, and programs touch their memory.
    let csv = |table: &str| fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
    let misses = csv("recorded-misses");
    let row = misses.lines().find(|line| line.starts_with("waves,here,"));
    let row: Vec<f64> = (row.expect("a program").split(',').skip(2))
        .map(|cell| cell.parse().expect("a figure"))
        .collect();
    assert_eq!(row.len(), 12, "{misses}");
    assert!(row.iter().all(|rate| *rate > 0.1), "{misses}");
    // Without superpages, a superpage TLB has base pages alone, whatever their frames.
    assert_eq!(row[1], row[2], "{misses}");
    // Page-size assignment and reservation pay.
    assert!(row[3] < row[2] && row[11] < row[9], "{misses}");
    for (table, heads, rows) in [
        ("programs", "program,kind,thesis,references,touched MiB,", 3),
        ("recorded-speedups", "program,whose,sp_fa_b64,", 8),
        ("tendencies", "tendency,program,misses,", 36),
        ("placement", "program,whose,policy,", 24),
        ("lines-a-miss", "table,TLB,program,whose,linear,", 24),
        ("clustered-lines", "program,whose,single: base,", 6),
        ("table-memory", "program,whose,KiB,\"linear, 6 levels\"", 6),
        (
            "superpage-table-memory",
            "program,whose,KiB,hashed: base",
            6,
        ),
    ] {
        let csv = csv(table);
        assert!(
            csv.starts_with(heads) && csv.lines().count() == rows + 1,
            "{csv}"
        );
    }
    // A linear table of six levels takes whole pages, a clustered one less than a hashed one.
    let memory = csv("table-memory");
    let row = memory.lines().find(|line| line.starts_with("waves,here,"));
    let row = row.expect("a program").split(',').skip(3);
    let row: Vec<f64> = row.map(|cell| cell.parse().expect("a figure")).collect();
    assert!(row[0] > row[1] && row[3] == 1.0 && row[4] < 1.0, "{memory}");
    // A second run finds the recordings and the counts, and prints the same.
    let again = run(&["paper", "talluri1995", "--tiny", "--force", "-o", name]);
    assert!(
        stderr(&again).contains("is recorded already"),
        "{}",
        stderr(&again)
    );
    assert_eq!(succeeded(&again), text);
}

#[test]
fn claims_that_fail_are_counted_and_fail_with_strict() {
    let folder = folder("paper-strict");
    let out = folder.join("tables");
    let name = out.to_str().expect("a name");
    let paper = ["paper", "navarro2002", "--tiny"];
    // Where nothing is promoted, claims fail.
    let never = ["--without", "promotion", "--strict", "-o", name];
    let output = run(&[&paper[..], &never].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    let failing: Vec<&str> = (text.lines())
        .filter_map(|line| line.trim_start().strip_prefix("does not agree: "))
        .collect();
    // Those that agree do not depend on promotions: they are about base pages, reservations, the
    // page daemon and the cache.
    let agreeing: Vec<&str> = (text.lines())
        .filter_map(|line| line.trim_start().strip_prefix("agrees: "))
        .collect();
    let independent = [
        "matrix transpose with base pages",
        "mesa slows down",
        "cache pages are available memory",
        "pages of a file become inactive",
        "the daemon restores contiguity",
        "the daemon satisfies 30 percent of the requests",
        "the daemon, where it satisfies more requests than cache,",
    ];
    assert_eq!(agreeing.len(), independent.len(), "{agreeing:#?}");
    for (claim, start) in agreeing.iter().zip(independent) {
        assert!(claim.starts_with(start), "{claim}");
    }
    for claim in &failing {
        assert!(stderr(&output).contains(claim), "{claim}");
    }
    // Every claim is a row of claims.csv, and the last line counts them.
    let claims = fs::read_to_string(out.join("claims.csv")).expect("claims");
    let rows = claims.lines().skip(1);
    let all = rows.clone().count();
    let not = rows.filter(|row| row.contains(",no,")).count();
    assert_eq!(not, failing.len());
    let last = format!("{} of {all} claims agree with the slides.", all - not);
    assert_eq!(text.lines().last(), Some(last.as_str()));
}

#[test]
fn mechanisms_that_there_are_not_cannot_be_turned_off() {
    let line = refused(&run(&["paper", "navarro2002", "--without", "coalescence"]));
    assert!(line.contains("coalescing"), "{line}");
    let line = refused(&run(&["paper", "romer1995", "--without", "coalescing"]));
    assert!(line.contains("romer1995"), "{line}");
}

#[test]
fn the_schemes_of_chen_run_a_mix_of_recorded_programs() {
    let folder = folder("paper-chen");
    let out = folder.join("tables");
    let name = out.to_str().expect("a name");
    let text = succeeded(&run(&["paper", "chen2014", "--tiny", "-o", name]));
    let last = text.lines().last().expect("a last line");
    assert!(
        last.ends_with(" of 8 claims agree with the paper."),
        "{last}"
    );
    for (table, heads, rows) in [
        ("programs", "program,kind,paper,instructions,", 4),
        (
            "figure-3",
            "program,paper,IPC,in 1/8,in 1/4,in 1/2,need,",
            4,
        ),
        ("table-2", "mix,paper,programs,needs,LLC paper,LLC,", 1),
        (
            "figure-8",
            "mix,page colouring,superpage,scattered superpage",
            4,
        ),
        (
            "figure-9",
            "mix,page colouring,superpage,scattered superpage",
            4,
        ),
        (
            "figure-10",
            "mix,page colouring,superpage,scattered superpage",
            4,
        ),
        (
            "figure-11",
            "mix,page colouring,superpage,scattered superpage",
            4,
        ),
        ("schemes", "scheme,weighted speedup,harmonic mean,", 4),
        ("claims", "table,claim,agrees,paper,here,reason", 8),
    ] {
        let csv = fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
        assert!(csv.starts_with(heads), "{csv}");
        assert_eq!(csv.lines().count(), rows + 1, "{csv}");
    }
    // The one mix of these four programs, and the paper's averages.
    assert!(text.contains("soplex astar gcc lbm"), "{text}");
    for (table, averages) in [
        ("figure-8", "paper's mean,+6.50,+15.04,+20.51"),
        ("figure-9", "paper's mean,+12.43,+15.64,+27.77"),
        ("figure-10", "paper's mean,+25.75,+1.74,+17.05"),
        ("figure-11", "paper's mean,+11.76,+91.06,+86.02"),
    ] {
        let csv = fs::read_to_string(out.join(format!("{table}.csv"))).expect("a table");
        assert_eq!(csv.lines().last(), Some(averages), "{csv}");
    }
    // Superpages spare page walks, and a colour of base pages spares none.
    let csv = fs::read_to_string(out.join("figure-11.csv")).expect("a table");
    let mean = csv.lines().find(|line| line.starts_with("mean,"));
    let cells: Vec<f64> = (mean.expect("a mean").split(',').skip(1))
        .map(|cell| cell.parse().expect("a number"))
        .collect();
    assert!(
        cells[0].abs() < 1.0 && cells[1] > 1.0 && cells[2] > 1.0,
        "{csv}"
    );

    // Recordings are kept, and a run of the same recordings is the same to the byte.
    assert!(out.join("chen2014-lbm-1.code.bl").exists());
    let again = run(&["paper", "chen2014", "--tiny", "--force", "-o", name]);
    assert_eq!(succeeded(&again), text);
    assert!(stderr(&again).contains("chen2014-lbm-1 is recorded already"));
}

#[test]
fn unknown_papers_are_answered_with_those_that_there_are() {
    for name in ["navaro2002", "romer1996"] {
        let line = refused(&run(&["paper", name]));
        assert!(
            line.contains("navarro2002, romer1995, talluri1995, chen2014, zhu2018")
                && line.contains(name),
            "{line}"
        );
    }
    let output = run(&["paper", "navarro2002", "--cycles-per-access", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("0.1 to 1000"));
}

/// A guest is refused before anything is recorded.
#[test]
fn guests_that_are_of_no_use_are_refused() {
    let nowhere = folder("paper-guest");
    let nowhere = nowhere.to_str().expect("a name");
    let why = refused(&run(&["paper", "zhu2018", "--tiny", "--guest", nowhere]));
    assert!(why.contains("holds no guest"), "{why}");
    let why = refused(&run(&[
        "paper",
        "navarro2002",
        "--tiny",
        "--guest",
        nowhere,
    ]));
    assert!(why.contains("leave out --guest"), "{why}");
}
