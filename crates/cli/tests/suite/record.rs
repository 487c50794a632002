//! `record`: real programs, and the same results of two recordings.

#![allow(clippy::disallowed_macros, reason = "a test may panic")]

use std::path::Path;

use crate::support::{folder, run, succeeded};

/// Whether programs can be recorded here, and this one is installed; says why where not.
fn can_record(program: &str) -> bool {
    let installed = |name: &str| {
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .any(|folder| folder.join(name).is_file())
    };
    let missing = ["valgrind", program]
        .into_iter()
        .find(|name| !installed(name));
    if let Some(name) = missing {
        eprintln!("skipped: {name} is not installed");
    }
    missing.is_none()
}

/// Records a shell's line in which the last program replaces the shell, and compares a few
/// policies. The comparison's rows.
fn record_and_compare(folder: &Path, name: &str, line: &str) -> Vec<String> {
    let trace = folder.join(name).display().to_string();
    succeeded(&run(&["record", "-o", &trace, "--", "sh", "-c", line]));
    let policies = [
        "--policy",
        "4k",
        "--policy",
        "freebsd",
        "--policy",
        "thp-always",
    ];
    let arguments = [&["compare", &trace, "--format", "csv"][..], &policies].concat();
    let table = succeeded(&run(&arguments));
    // The first two columns are the trace and its hash, which differ.
    let results = |row: &str| {
        let columns: Vec<&str> = row.split(',').skip(2).collect();
        columns.join(",")
    };
    let rows: Vec<String> = table.lines().map(results).collect();
    assert!(rows.len() >= 4, "{table}");
    rows
}

#[test]
fn a_database_twice_with_the_same_results() {
    if !can_record("sqlite3") {
        return;
    }
    let folder = folder("record-sqlite3");
    let folder: &Path = folder.as_ref();
    let statements = "create table t(a integer primary key, b text, c real);\n\
        with recursive n(i) as (values(1) union all select i+1 from n where i<3000)\n\
        insert into t select i, 'row ' || (i * 7919 % 3001), i / 7.0 from n;\n\
        create index by_b on t(b);\n\
        select count(*), sum(length(b)) from t where b > 'row 2';\n";
    let script = folder.join("script");
    std::fs::write(&script, statements).expect("a script");
    let line = format!(
        "exec sqlite3 :memory: <{} >{}",
        script.display(),
        folder.join("out").display()
    );
    let first = record_and_compare(folder, "first.bl", &line);
    assert_eq!(record_and_compare(folder, "other.bl", &line), first);
    let answer = std::fs::read_to_string(folder.join("out")).expect("its output");
    assert!(answer.starts_with(|c: char| c.is_ascii_digit()), "{answer}");
}

#[test]
fn a_sort_with_threads() {
    if !can_record("sort") {
        return;
    }
    let folder = folder("record-sort");
    let folder: &Path = folder.as_ref();
    let input = folder.join("input");
    let lines: String = (0..20_000_u64)
        .map(|n| format!("{}\n", n * 48_271 % 1_000_003))
        .collect();
    std::fs::write(&input, lines).expect("lines to sort");
    let out = folder.join("out");
    let line = format!(
        "exec sort --parallel=2 -S 8M -o {} {}",
        out.display(),
        input.display()
    );
    record_and_compare(folder, "sort.bl", &line);
    let sorted = std::fs::read_to_string(out).expect("its output");
    assert!(sorted.lines().is_sorted());
    assert_eq!(sorted.lines().count(), 20_000);
}

#[test]
fn a_program_that_cannot_be_started_is_answered_as_by_env_and_run() {
    let folder = folder("record-no-program");
    let script = crate::support::folder("record-no-interpreter").join("script");
    std::fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, rights).unwrap();
    for (program, status, reason) in [
        ("/etc/passwd", 126, "Permission denied"),
        ("/etc", 126, "Permission denied"),
        ("/no/such/program", 127, "No such file or directory"),
        ("no-such-program", 127, "No such file or directory"),
        (script.to_str().unwrap(), 127, "No such file or directory"),
    ] {
        let expected = format!("broadleaf: {program}: cannot run it: {reason}\n");
        for command in ["record", "run"] {
            let output = crate::support::broadleaf(&[command, "--", program])
                .current_dir(&folder)
                .output()
                .expect("the command was built for this test");
            assert_eq!(output.status.code(), Some(status), "{command} {program}");
            let said = crate::support::stderr(&output);
            assert!(said.ends_with(&expected), "{command}: {said}");
        }
    }
    assert_eq!(crate::support::names(&folder), [""; 0]);
}
