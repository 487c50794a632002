//! Output files: claims to names, the files that a killed command leaves, and the mode of results.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{
    NO_CACHE, binary, broadleaf, file, folder, lackey, names, refused, run, stderr, succeeded,
};

fn start(folder: &Path, arguments: &[&str]) -> Child {
    broadleaf(arguments)
        .current_dir(folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until something is so, half a minute at most.
fn is_soon(mut so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(30);
    while !so() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn recordings_at_the_same_time_have_names_of_their_own() {
    let folder = folder("claims-names");
    let both: Vec<Child> = (0..2)
        .map(|_| start(&folder, &["record", "--", "sh", "-c", "sleep 1"]))
        .collect();
    for child in both {
        succeeded(&child.wait_with_output().unwrap());
    }
    assert_eq!(names(&folder), ["sh.1.bl", "sh.bl"]);
}

#[test]
fn a_second_recording_to_a_name_is_refused_before_its_program_runs() {
    let folder = folder("claims-second");
    let first = start(
        &folder,
        &[
            "record",
            "-o",
            "same.bl",
            "--",
            "sh",
            "-c",
            ": >first; sleep 3",
        ],
    );
    assert!(is_soon(|| folder.join("same.bl").exists()));
    for more in [&[][..], &["--force"]] {
        let arguments = [
            &["record", "-o", "same.bl"],
            more,
            &["--", "touch", "second"],
        ]
        .concat();
        let line = refused(&broadleaf(&arguments).current_dir(&folder).output().unwrap());
        assert!(
            line.contains("same.bl: another broadleaf command"),
            "{line}"
        );
    }
    succeeded(&first.wait_with_output().unwrap());
    assert_eq!(names(&folder), ["first", "same.bl"]);
}

/// A trace of version 1, which a recorder does not write any more.
fn copy_version_1(folder: &Path) -> std::path::PathBuf {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures/v1.bl");
    let copy = folder.join("v1.bl");
    fs::copy(trace, &copy).unwrap();
    copy
}

#[test]
fn closed_and_full_streams_end_no_command() {
    let folder = folder("claims-streams");
    let text = file(&folder, "t.lackey", lackey(10).as_bytes());
    let trace = copy_version_1(&folder);
    let trace = trace.to_str().unwrap();
    for arguments in [
        &["record", "-o", "r.bl", "--", "true"][..],
        &["import", "lackey", &text, "-o", "i.bl"],
        &["recode", trace, "-o", "c.bl"],
        &["reduce", trace, "-o", "d.bl"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = broadleaf(arguments);
        let status = command.current_dir(&folder).stderr(full).status().unwrap();
        assert!(status.success(), "{arguments:?}: {status}");
    }
    let closed = "\"$0\" record -o closed.bl -- true 2>&- >&-";
    let status = std::process::Command::new("sh")
        .args(["-c", closed])
        .arg(binary())
        .current_dir(&folder)
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn traces_are_their_owners_and_a_replaced_file_keeps_its_mode() {
    let folder = folder("claims-modes");
    let (trace, link) = (folder.join("x.bl"), folder.join("link.bl"));
    let record = |path: &Path, more: &[&str]| {
        let arguments = [
            &["record", "-o", path.to_str().unwrap()],
            more,
            &["--", "true"],
        ]
        .concat();
        succeeded(&run(&arguments));
    };
    record(&trace, &[]);
    assert_eq!(mode(&trace), 0o600);
    symlink("x.bl", &link).unwrap();
    fs::set_permissions(&trace, fs::Permissions::from_mode(0o640)).unwrap();
    for path in [&trace, &link] {
        record(path, &["--force"]);
        assert_eq!(mode(&trace), 0o640);
    }
    assert!(link.is_symlink());
    let text = file(&folder, "t.lackey", lackey(10).as_bytes());
    succeeded(&run(&["import", "lackey", &text]));
    assert_eq!(mode(&folder.join("t.bl")), 0o600);
    let nowhere = folder.join("nowhere.bl");
    symlink("missing/x.bl", &nowhere).unwrap();
    let line = refused(&run(&[
        "record",
        "-o",
        nowhere.to_str().unwrap(),
        "--",
        "touch",
        folder.join("ran").to_str().unwrap(),
    ]));
    assert!(
        line.contains("symbolic link") && !folder.join("ran").exists(),
        "{line}"
    );
}

fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// Every user can make a pipe in a shared folder, and to open a pipe waits for a writer.
#[test]
fn a_pipe_with_the_name_of_a_claim_stops_no_command() {
    let folder = folder("claims-pipe");
    make_pipe(&folder.join(".broadleaf-0000000000000000"));
    let mut child = start(&folder, &["list", "policies"]);
    let has_ended = is_soon(|| child.try_wait().unwrap().is_some());
    // It would wait for ever.
    let _ = child.kill();
    assert!(has_ended);
    assert_eq!(names(&folder), [".broadleaf-0000000000000000"]);
}

/// Another user. Only root can run a command as another user, and give files away.
const OTHER: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Starts an import as another user and kills it while it reads.
#[test]
fn what_a_killed_command_of_another_user_left_keeps_nobody_from_writing() {
    use std::os::unix::process::CommandExt;
    if !is_root() {
        return;
    }
    let folder = folder("claims-users");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    make_pipe(&folder.join("endless"));
    // A pipe that is open for both does not wait for a reader, and never ends.
    let endless = fs::File::options()
        .read(true)
        .write(true)
        .open(folder.join("endless"))
        .unwrap();
    // The command looks at the first bytes before it claims a name.
    std::io::Write::write_all(&mut &endless, lackey(100).as_bytes()).unwrap();
    let mut command = broadleaf(&["import", "lackey", "-", "-o", "x.bl"]);
    command.current_dir(&folder).stdin(endless);
    let Ok(mut child) = command.uid(OTHER).gid(OTHER).spawn() else {
        // The other user cannot reach the command.
        return;
    };
    let has_claimed = is_soon(|| names(&folder).len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(has_claimed);
    let text = file(&folder, "t.lackey", lackey(10).as_bytes());
    let mut import = broadleaf(&["import", "lackey", &text, "-o", "x.bl"]);
    succeeded(&import.current_dir(&folder).output().unwrap());
}

#[test]
fn a_file_that_root_replaces_keeps_its_owner() {
    if !is_root() {
        return;
    }
    let folder = folder("claims-owner");
    let text = file(&folder, "t.lackey", lackey(10).as_bytes());
    let x = folder.join("x.bl");
    fs::write(&x, "old").unwrap();
    chown(&x, Some(OTHER), Some(OTHER)).unwrap();
    let x = x.to_str().unwrap();
    for arguments in [
        &["import", "lackey", &text, "-o", x, "--force"][..],
        &["record", "-o", x, "--force", "--", "true"],
    ] {
        succeeded(&run(arguments));
        let there = fs::metadata(x).unwrap();
        assert_eq!((there.uid(), there.gid()), (OTHER, OTHER), "{arguments:?}");
        assert_ne!(there.len(), 3);
    }
}

#[test]
fn a_stream_that_leads_to_a_file_is_written_in_place() {
    let folder = folder("claims-in-place");
    copy_version_1(&folder);
    symlink("/dev/stdout", folder.join("link")).unwrap();
    for (path, more, redirection) in [
        ("/dev/stdout", "", ">log"),
        ("/dev/stdout", "--force", ">>log"),
        ("/dev/stderr", "--force", "2>>log"),
        ("/dev/fd/7", "--force", "7>>log"),
        ("/proc/self/fd/1", "--force", ">log"),
        ("link", "--force", ">>log"),
    ] {
        let log = folder.join("log");
        fs::write(&log, "before\n").unwrap();
        let before = log.metadata().unwrap().ino();
        let line = format!(
            "{{ echo first; \"$0\" compare v1.bl -o {path} {more}; echo last; }} {redirection}"
        );
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", &line]).arg(binary());
        let shell = shell.env("BROADLEAF_CACHE_SIZE", NO_CACHE);
        let output = shell.current_dir(&folder).output().unwrap();
        succeeded(&output);
        assert_eq!(log.metadata().unwrap().ino(), before, "{line}");
        let text = fs::read_to_string(&log).unwrap();
        assert!(text.contains("thp-always"), "{line}: {text}");
        assert_eq!(
            text.starts_with("before\n"),
            redirection.contains(">>"),
            "{line}"
        );
        if path == "/dev/stdout" {
            assert!(
                text.contains("first\n") && text.ends_with("last\n"),
                "{line}: {text}"
            );
        }
    }
    assert_eq!(names(&folder), ["link", "log", "v1.bl"]);
}

/// Returns true if a process has ended, even if its parent has not waited for it.
fn has_ended(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'))
    })
}

/// The program and a child of it end with their recorder. One computes and one sleeps.
#[test]
fn a_killed_recorder_leaves_the_old_file_no_process_and_no_temporary_file() {
    for follow in [&[][..], &["--follow-children"]] {
        let folder = folder("claims-killed");
        let temporary = folder.join("tmp");
        fs::create_dir(&temporary).unwrap();
        let command = |arguments: &[&str]| {
            let mut command = broadleaf(arguments);
            command.current_dir(&folder).env("TMPDIR", &temporary);
            command
        };
        succeeded(
            &command(&["record", "-o", "x.bl", "--", "true"])
                .output()
                .unwrap(),
        );
        let old = fs::read(folder.join("x.bl")).unwrap();
        let line = "(while :; do :; done) & echo $! >>pids; echo $$ >>pids; read x <pipe";
        fs::write(folder.join("line"), line).unwrap();
        make_pipe(&folder.join("pipe"));
        let all = [
            &["record", "-o", "x.bl", "--force"],
            follow,
            &["--", "sh", "line"],
        ]
        .concat();
        let mut recorder = command(&all).spawn().unwrap();
        let pids = || fs::read_to_string(folder.join("pids")).unwrap_or_default();
        assert!(is_soon(|| pids().lines().count() == 2));
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        for pid in pids().lines() {
            assert!(is_soon(|| has_ended(pid)), "{pid} runs on, {follow:?}");
        }
        assert_eq!(fs::read(folder.join("x.bl")).unwrap(), old);
        let info = command(&["info", "x.bl"]).output().unwrap();
        succeeded(&info);
        assert!(names(&temporary).is_empty(), "{:?}", names(&temporary));
        let hidden = names(&folder)
            .into_iter()
            .filter(|name| name.starts_with('.'));
        assert_eq!(hidden.count(), 0);
    }
}

/// A daemon that a program forked outlives the recording, as it would without the recorder.
#[test]
fn a_recording_that_ends_leaves_a_daemon_alone() {
    let folder = folder("claims-daemon");
    let line = "(while [ ! -e stop ]; do :; done; echo done >answer) &";
    // The daemon keeps the streams that it inherits, so nothing here waits for their end.
    let mut recorder = broadleaf(&["record", "-o", "x.bl", "--", "sh", "-c", line])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(recorder.wait().unwrap().success());
    fs::write(folder.join("stop"), "").unwrap();
    assert!(is_soon(|| folder.join("answer").exists()));
}

#[test]
fn a_folder_for_temporary_files_that_is_missing_is_named() {
    let folder = folder("claims-tmpdir");
    let output = broadleaf(&["record", "--", "true"])
        .current_dir(&folder)
        .env("TMPDIR", "/nonexistent/here")
        .output()
        .unwrap();
    let line = stderr(&output);
    assert!(
        line.contains("/nonexistent/here") && line.contains("TMPDIR"),
        "{line}"
    );
    assert!(names(&folder).is_empty());
}

/// Valgrind ends without a word if its standard error is closed.
#[test]
fn a_program_is_recorded_where_standard_error_is_closed() {
    let folder = folder("claims-no-stderr");
    let line = "exec \"$0\" record -o x.bl -- sh -c 'echo out; exit 4' 2>&-";
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", line]).arg(binary());
    let output = shell.current_dir(&folder).output().unwrap();
    assert_eq!(output.stdout, b"out\n");
    let info = broadleaf(&["info", "x.bl"]).current_dir(&folder).output();
    let text = succeeded(&info.unwrap());
    assert!(text.contains("exit 4"), "{text}");
}
