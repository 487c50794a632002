//! How a reduced trace is written.

use super::*;

#[test]
fn what_exists_is_not_overwritten() {
    let folder = folder("reduce-overwrite");
    let trace = file(&folder, "x.lackey", lackey(10).as_bytes());
    let beside = file(&folder, "x.lackey.reduced", b"precious");
    let elsewhere = file(&folder, "elsewhere", b"precious");
    for (path, more) in [(&beside, &[][..]), (&elsewhere, &["-o", &elsewhere])] {
        let line = refused(&run(&[&["reduce", trace.as_str()], more].concat()));
        for part in [path.as_str(), "exists", "--force"] {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(fs::read(path).unwrap(), b"precious");
        reduce(&trace, &[&["--force"], more].concat());
        assert!(fs::read(path).unwrap().starts_with(b"BROADLEAFR"));
    }
    // Nor what is read, by force: the trace, a machine, and for `compare` the reduced form.
    let machine = file(&folder, "m.toml", b"precious");
    for arguments in [
        &["reduce", &trace, "-o", &trace, "--force"][..],
        &[
            "reduce",
            &trace,
            "-o",
            &machine,
            "--machine",
            &machine,
            "--force",
        ],
        &["compare", &trace, "-o", &beside, "--force"],
    ] {
        let line = refused(&run(arguments));
        assert!(line.contains("is read by this command"), "{line}");
    }
    assert_eq!(fs::read_to_string(&trace).unwrap(), lackey(10));
    assert_eq!(fs::read(&machine).unwrap(), b"precious");
}

#[test]
fn only_a_whole_file_is_reduced() {
    let folder = folder("reduce-whole");
    let text = lackey(100);
    for arguments in [&["reduce", "-"][..], &["reduce", "-", "-o", "x.reduced"]] {
        let line = refused(&run_with(arguments, text.as_bytes()));
        assert!(line.contains("not standard input"), "{line}");
    }
    let pipe = folder.join("pipe").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let line = refused(&run(&["reduce", &pipe]));
    assert!(
        line.contains(&pipe) && line.contains("not a regular file"),
        "{line}"
    );
    fs::remove_file(&pipe).expect("it is there");

    let mut encoder = Encoder::new(Vec::new(), &Header::new(Grain::Page)).expect("a head");
    encoder.visits(&visits(0..5000)).expect("visits");
    let bytes = encoder.finish().expect("a trace");
    TraceIndex::read(std::io::Cursor::new(&bytes)).expect("an index");
    let trailer: [u8; 8] = bytes[bytes.len() - 16..][..8].try_into().expect("8 bytes");
    let index = u64::from_le_bytes(trailer) as usize;
    let garbage = format!("{text}garbage\n");
    for (name, bytes) in [
        ("cut.bl", &bytes[..index]),
        ("torn.bl", &bytes[..index - 3]),
        ("bad.lackey", garbage.as_bytes()),
        ("missing.bl", &[]),
    ] {
        let trace = file(&folder, name, bytes);
        if bytes.is_empty() {
            fs::remove_file(&trace).expect("it is there");
        }
        let line = refused(&run(&["reduce", &trace]));
        assert!(line.contains(&trace), "{line}");
        // That is no option here.
        assert!(!line.contains("--keep-going"), "{line}");
    }
    assert_eq!(names(&folder), ["bad.lackey", "cut.bl", "torn.bl"]);
}

#[test]
fn threads_make_no_difference() {
    let folder = folder("reduce-threads");
    let trace = file(
        &folder,
        "children.bl",
        &fs::read(
            golden()
                .iter()
                .find(|path| path.ends_with("children.bl"))
                .expect("it is one of them"),
        )
        .expect("a recording"),
    );
    for more in [&[][..], &["--curve", "--policy", "4k,pop-64,freebsd"]] {
        let with = |count| quietly(&trace, &[more, &["--threads", count]].concat());
        assert_eq!(with("1"), with("3"), "{more:?}");
    }
    let reduced = |count: &str| {
        let path = folder.join(count).display().to_string();
        reduce(&trace, &["-o", &path, "--threads", count]);
        let answers = ["1", "3"].map(|count| quietly(&path, &["--threads", count]));
        assert_eq!(answers[0], answers[1]);
        (value(&answers[0])["results"].clone(), path)
    };
    assert_eq!(reduced("1").0, reduced("3").0);
    for command in ["compare", "reduce"] {
        for count in ["0", "two"] {
            let output = broadleaf(&[command, &trace, "--threads", count])
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2), "{command} {count}");
            assert!(stderr(&output).contains("--threads"), "{}", stderr(&output));
            assert!(output.stdout.is_empty());
        }
    }
}
