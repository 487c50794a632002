//! `import`: what comes out is what went in.

use crate::support::{file, folder, lackey, refused, run, run_with, stderr, succeeded};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeded(&run(arguments))).expect("the answer is JSON")
}

#[test]
fn an_imported_trace_gives_the_same_results_as_the_text() {
    let folder = folder("import");
    // With accesses that reach into the next page, and a load that is followed by a store.
    let text = format!(
        "{} L 20000ffc,8\n S 20001ffe,8\n M 20003ffd,4\nI  00401000,3\n",
        lackey(3000)
    );
    let path = file(&folder, "x.lackey", text.as_bytes());
    let output = run(&["import", "lackey", &path]);
    assert_eq!(succeeded(&output), "");
    let trace = folder.join("x.bl");
    let trace = trace.to_str().unwrap();
    let ask = |path: &str| json(&["compare", path, "--format", "json"]);
    let (of_text, of_trace) = (ask(&path), ask(trace));
    assert_eq!(of_text["results"], of_trace["results"]);
    for field in ["accesses", "loads", "stores", "pages", "events"] {
        assert_eq!(of_text["trace"][field], of_trace["trace"][field], "{field}");
    }
    let info = json(&["info", trace, "--format", "json"]);
    assert_eq!(info["trace"]["complete"], true);
    assert_eq!(info["straddling"], 4);
    assert_eq!(info["instructions"], of_text["trace"]["instructions"]);
}

#[test]
fn from_a_pipe_to_a_name() {
    let folder = folder("import-pipe");
    let trace = folder.join("x.bl");
    let trace = trace.to_str().unwrap();
    let text = lackey(100);
    succeeded(&run_with(
        &["import", "lackey", "-", "-o", trace],
        text.as_bytes(),
    ));
    assert_eq!(json(&["info", trace, "--format", "json"])["accesses"], 200);
    let line = refused(&run_with(&["import", "lackey", "-"], text.as_bytes()));
    assert!(line.contains("-o"), "{line}");
    // On to another pipe: what is said of it is what went through.
    let on = run_with(&["import", "lackey", "-", "-o", "-"], text.as_bytes());
    assert!(on.status.success());
    assert_eq!(on.stdout, std::fs::read(trace).unwrap());
    let said = format!(" a trace of {} B ", on.stdout.len());
    assert!(stderr(&on).contains(&said), "{said}: {}", stderr(&on));
}

#[test]
fn line_grain_is_kept() {
    let folder = folder("import-grain");
    let path = file(&folder, "x.lackey", lackey(100).as_bytes());
    succeeded(&run(&["import", "lackey", &path, "--grain", "line"]));
    let trace = folder.join("x.bl");
    let info = json(&["info", trace.to_str().unwrap(), "--format", "json"]);
    assert_eq!(info["trace"]["grain"], "line");
    assert_eq!(info["pages"], 100);
}

#[test]
fn damage_to_a_trace_is_refused_with_its_place_or_passed_over() {
    let folder = folder("damage");
    let path = file(&folder, "x.lackey", lackey(20_000).as_bytes());
    succeeded(&run(&["import", "lackey", &path]));
    let whole = std::fs::read(folder.join("x.bl")).unwrap();

    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let flipped = file(&folder, "flipped.bl", &flipped);
    let line = refused(&run(&["compare", &flipped]));
    assert!(line.contains("damaged") && line.contains("byte"), "{line}");

    let cut = file(&folder, "cut.bl", &whole[..whole.len() / 2]);
    let line = refused(&run(&["compare", &cut]));
    assert!(
        line.contains("truncated") && line.contains("--keep-going"),
        "{line}"
    );

    let mut later = whole.clone();
    later[10] = 9;
    let later = file(&folder, "later.bl", &later);
    let line = refused(&run(&["compare", &later]));
    assert!(
        line.contains("version 9") && line.contains("upgrade"),
        "{line}"
    );

    let head = file(&folder, "head.bl", &whole[..10]);
    refused(&run(&["compare", &head]));

    // The results and standard error both name what was lost.
    for path in [&flipped, &cut] {
        let output = run(&["info", path, "--keep-going", "--format", "json"]);
        let info: Value = serde_json::from_str(&succeeded(&output)).unwrap();
        assert!(
            info["trace"]["damage"]
                .as_str()
                .unwrap()
                .contains("were lost")
        );
    }
}

/// Bytes of a record of drmemtrace: type, size, address or value.
fn drmemtrace(records: &[(u16, u16, u64)]) -> Vec<u8> {
    let records = records.iter().flat_map(|(kind, size, value)| {
        let head = [kind.to_le_bytes(), size.to_le_bytes()].concat();
        [head, value.to_le_bytes().to_vec()].concat()
    });
    records.collect()
}

#[test]
fn threads_of_a_folder_are_one_trace() {
    let folder = folder("import-drmemtrace");
    let trace = folder.join("drmemtrace.app.7.dir/trace");
    std::fs::create_dir_all(&trace).unwrap();
    for (thread, time) in [(7, 100), (8, 200)] {
        let bytes = drmemtrace(&[
            (25, 0, 7),
            (22, 8, thread),
            (24, 8, 7),
            (28, 2, time),
            (10, 4, 0x40_1000),
            (0, 8, 0x7000_0000 + thread * 0x1000),
            (3, 1, 0x1234),
            (23, 8, thread),
            (26, 0, 0),
        ]);
        let name = format!("drmemtrace.app.{thread}.1.trace");
        file(&trace, &name, &bytes);
    }
    let input = folder.join("drmemtrace.app.7.dir").display().to_string();
    let output = run(&["import", "drmemtrace", &input]);
    succeeded(&output);
    let said = stderr(&output);
    assert!(
        said.contains("2 accesses and 2 instructions from 18 records"),
        "{said}"
    );
    assert!(said.contains("left out: 2 prefetches"), "{said}");
    let imported = folder.join("drmemtrace.app.7.bl").display().to_string();
    // The trace says so too, with the same numbers, and is otherwise whole.
    let left_out = said.lines().find_map(|line| line.split_once("left out: "));
    let note = format!("left out: {}", left_out.unwrap().1);
    let table = succeeded(&run(&["info", &imported]));
    assert!(table.contains(&note), "{table}");
    let info = json(&["info", &imported, "--format", "json"]);
    let notes = info["header"]["notes"].as_array().unwrap();
    assert!(notes.contains(&note.clone().into()), "{notes:?}");
    // A pipe cannot be changed later: the numbers go to standard error alone.
    let piped = format!("{imported}.piped");
    let command = run(&["import", "drmemtrace", &input, "-o", "-"]);
    assert!(stderr(&command).contains(&note), "{}", stderr(&command));
    std::fs::write(&piped, &command.stdout).unwrap();
    let piped_info = json(&["info", &piped, "--format", "json"]);
    let piped_notes = piped_info["header"]["notes"].as_array().unwrap();
    assert_eq!(piped_notes.len() + 1, notes.len());
    assert_eq!(piped_info["accesses"], info["accesses"]);
    std::fs::remove_file(&piped).unwrap();
    assert_eq!((&info["accesses"], &info["pages"]), (&2.into(), &2.into()));
    assert_eq!(info["events"]["thread_switch"], 2);
    let instructions = ["import", "drmemtrace", &input, "--instructions", "--force"];
    succeeded(&run(&instructions));
    let info = json(&["info", &imported, "--format", "json"]);
    assert_eq!(info["header"]["instruction_pages"], true);

    // Cut short, nothing is written.
    let cut = trace.join("drmemtrace.app.8.1.trace");
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 5]).unwrap();
    let other = folder.join("other.bl").display().to_string();
    let line = refused(&run(&["import", "drmemtrace", &input, "-o", &other]));
    let place = "drmemtrace.app.8.1.trace: record 9 (at byte 96): ";
    assert!(line.contains(place) && line.contains("cut short"), "{line}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_folder_is_no_text() {
    let folder = folder("import-folder");
    let path = folder.display().to_string();
    let line = refused(&run(&["import", "lackey", &path, "-o", "x.bl"]));
    assert!(line.contains("is a directory, not a trace"), "{line}");
}
