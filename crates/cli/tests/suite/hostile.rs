//! Traces and files of other users. Control characters in them are escaped, and invalid content is
//! refused.

use crate::support;
use crate::support::{file, folder, refused, run, succeeded};
use broadleaf_trace::{Encoder, Grain, Header, RecordedProgram, Visit};

/// A trace that visits one page, with this header.
fn trace(header: &Header, visits: &[Visit]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), header).unwrap();
    encoder.visits(visits).unwrap();
    encoder.finish().unwrap()
}

fn visit(page: u64) -> Visit {
    Visit {
        unit: page,
        loads: 1,
        loads_before_store: 1,
        ..Visit::default()
    }
}

#[test]
fn a_trace_and_a_file_name_do_not_reach_the_terminal_as_they_are() {
    let folder = folder("hostile-names");
    let mut header = Header::new(Grain::Page);
    header.notes = vec!["harmless\ncomplete      yes\x1b[2J\u{9b}31m".to_owned()];
    header.machine = "machine\x1b]0;title\x07".to_owned();
    header.recorder = "recorder\r".to_owned();
    header.program = Some(RecordedProgram {
        path: "/bin/\x1b[1m".to_owned(),
        hash: [0; 32],
    });
    let good = file(&folder, "a\x1b[31m\nb.bl", &trace(&header, &[visit(7)]));
    let is_clean = |text: &str| !text.chars().any(|c| c.is_control() && c != '\n');
    for arguments in [
        &["info", &good][..],
        &["compare", &good, "--policy", "4k"],
        &["advise", &good, "--format", "madvise"],
    ] {
        let text = succeeded(&run(arguments));
        assert!(is_clean(&text), "{text:?}");
        assert!(
            text.starts_with("a") || text.contains("a?[31m?b.bl"),
            "{text}"
        );
        assert!(
            !text
                .lines()
                .any(|line| line.starts_with("complete      yes?")),
            "{text}"
        );
    }
    let text = succeeded(&run(&["info", &good]));
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("complete"))
            .count(),
        1,
        "{text}"
    );
    let bad = file(&folder, "c\x1b[31m\nd.bl", b"BROADLEAF and no more");
    let line = refused(&run(&["info", &bad]));
    assert!(is_clean(&line) && line.contains("c?[31m?d.bl"), "{line:?}");
    let line = refused(&run(&["record", "-o", &good, "--", "true"]));
    assert!(is_clean(&line) && line.contains("a?[31m?b.bl"), "{line:?}");
}

#[test]
fn an_address_that_no_processor_translates_is_refused_with_its_place() {
    let folder = folder("hostile-address");
    let header = Header::new(Grain::Page);
    let bytes = trace(&header, &[visit(7), visit(1 << 44), visit(8)]);
    let recording = file(&folder, "x.bl", &bytes);
    let text = file(&folder, "x.lackey", b" L 0100000000000000,8\n");
    for path in [&recording, &text] {
        for arguments in [
            &["info", path][..],
            &["reduce", path],
            &["compare", path, "--policy", "4k"],
            &["compare", path, "--policy", "4k", "--memory", "64M"],
        ] {
            let line = refused(&run(arguments));
            let place = if path == &recording {
                "ends at byte "
            } else {
                "first 1 lines"
            };
            assert!(
                line.contains(path.as_str())
                    && line.contains("0x100000000000000 is not canonical")
                    && line.contains(place),
                "{arguments:?}: {line}"
            );
        }
    }
    assert!(!folder.join("x.bl.reduced").exists());
}

#[test]
fn a_trace_without_accesses_is_not_reduced() {
    let folder = folder("hostile-empty");
    let empty = file(&folder, "x.bl", &trace(&Header::new(Grain::Page), &[]));
    for command in ["reduce", "compare", "advise"] {
        let line = refused(&run(&[command, &empty]));
        assert!(line.contains("x.bl: holds no load and no store"), "{line}");
    }
    assert!(!folder.join("x.bl.reduced").exists());
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_with_its_name_and_the_byte() {
    let folder = folder("hostile-utf8");
    let bad = file(&folder, "bad.toml", b"name = \"a\"\nwhat = \"\xff\"\n");
    let text = file(&folder, "x.lackey", support::lackey(10).as_bytes());
    for arguments in [
        &["compare", &text, "--machine", &bad][..],
        &["compare", &text, "--policies", &bad],
        &["compare", &text, "--memory", "1G", "--buddyinfo", &bad],
        &["service", &bad],
    ] {
        let line = refused(&run(arguments));
        assert!(
            line.contains("bad.toml: is not UTF-8 text: byte 19, in line 2"),
            "{arguments:?}: {line}"
        );
    }
}
