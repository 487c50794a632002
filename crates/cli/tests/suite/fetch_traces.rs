//! `fetch-traces` against a web server in this process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use crate::support::{folder, run, stderr, succeeded};

/// A server of files. It closes a connection after `most` bytes of a file, and answers ranges.
struct Server {
    address: String,
    /// The bytes of files that were sent.
    sent: Arc<AtomicUsize>,
}

impl Server {
    fn of(files: Vec<(&'static str, Vec<u8>)>, most: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sent);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &files, most, &counted);
            }
        });
        Self { address, sent }
    }

    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.address)
    }
}

fn answer(
    mut stream: TcpStream,
    files: &[(&'static str, Vec<u8>)],
    most: usize,
    sent: &AtomicUsize,
) {
    let mut path = String::new();
    let mut from = 0;
    for line in BufReader::new(&stream).lines().map_while(Result::ok) {
        if let Some(rest) = line.strip_prefix("GET /") {
            path = rest.split(' ').next().unwrap_or_default().to_owned();
        } else if let Some((_, range)) = line.split_once("bytes=") {
            from = range.trim_end_matches('-').parse().expect("a number");
        } else if line.is_empty() {
            break;
        }
    }
    let file = files.iter().find(|(name, _)| *name == path);
    let head = match file {
        None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        Some((_, bytes)) => {
            let status = if from > 0 {
                "206 Partial Content"
            } else {
                "200 OK"
            };
            let length = bytes.len() - from;
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
        }
    };
    let _ = stream.write_all(head.as_bytes());
    if let Some((_, bytes)) = file {
        let part = &bytes[from..bytes.len().min(from + most)];
        sent.fetch_add(part.len(), Ordering::SeqCst);
        let _ = stream.write_all(part);
    }
}

/// The message of a command that ended with this status.
fn failed(output: &Output, status: i32) -> String {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    stderr(output)
}

fn recording() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sort.bl");
    fs::read(path).expect("a recording")
}

fn catalogue(bytes: &[u8], sum: &str) -> Vec<u8> {
    format!(
        "schema = \"broadleaf.traces/1\"\n[[trace]]\nname = \"sort\"\naddress = \"sets/sort.bl\"\n\
         bytes = {}\nsha256 = \"{sum}\"\nsummary = \"a sort\"\n",
        bytes.len()
    )
    .into_bytes()
}

fn sum_of(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_broken_fetch_goes_on_and_is_checked() {
    let into = folder("fetched");
    let into = into.display().to_string();
    let bytes = recording();
    let list = catalogue(&bytes, &sum_of(&bytes));
    let files = vec![("list.toml", list), ("sets/sort.bl", bytes.clone())];
    let server = Server::of(files, 20_000);
    let list = server.address("list.toml");
    let printed = succeeded(&run(&["fetch-traces", &list]));
    assert!(
        printed.contains("sort   broadleaf  33.3 KiB  a sort"),
        "{printed}"
    );
    let fetch = ["fetch-traces", &list, "sort", "--into", &into];
    let error = failed(&run(&fetch), 1);
    assert!(
        error.contains("after 20,000 bytes") && error.contains("goes on"),
        "{error}"
    );
    let before = server.sent.load(Ordering::SeqCst);
    let output = run(&fetch);
    succeeded(&output);
    // The rest alone was sent, beside the catalogue.
    let sent = server.sent.load(Ordering::SeqCst) - before;
    assert!(sent < bytes.len() - 20_000 + 1000, "{sent}");
    let path = Path::new(&into).join("sort.bl");
    assert_eq!(fs::read(&path).expect("it is there"), bytes);
    succeeded(&run(&["info", &path.display().to_string()]));
    // A second fetch finds it, and a changed file is refused and kept.
    let output = run(&fetch);
    succeeded(&output);
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.contains("was there already"), "{notes}");
    fs::write(&path, b"mine").expect("it can be written");
    let error = failed(&run(&fetch), 2);
    assert!(error.contains("it has 4 bytes"), "{error}");
    assert_eq!(fs::read(&path).expect("it is there"), b"mine");
}

#[test]
fn other_bytes_than_the_catalogue_says_are_refused() {
    let into = folder("fetched-wrong");
    let into = into.display().to_string();
    let bytes = recording();
    let list = catalogue(&bytes, &"0".repeat(64));
    let server = Server::of(
        vec![("list.toml", list), ("sets/sort.bl", bytes)],
        usize::MAX,
    );
    let list = server.address("list.toml");
    let error = failed(&run(&["fetch-traces", &list, "--all", "--into", &into]), 1);
    assert!(error.contains("its SHA-256 is"), "{error}");
    assert_eq!(fs::read_dir(&into).expect("a folder").count(), 0);
    let error = failed(&run(&["fetch-traces", &server.address("none")]), 1);
    assert!(error.contains("404"), "{error}");
}

/// The page of a folder is a catalogue too.
#[test]
fn an_index_page_lists_its_traces() {
    let into = folder("fetched-index");
    let into = into.display().to_string();
    let page = b"<html><a href=\"../\">up</a><a href=\"one.csv\">one</a><a href=\"x.txt\">x</a>";
    let rows = b"address\n4096\n8192\n".to_vec();
    let files = vec![("sets/", page.to_vec()), ("sets/one.csv", rows)];
    let server = Server::of(files, usize::MAX);
    let page = server.address("sets/");
    let listed = succeeded(&run(&["fetch-traces", &page]));
    assert!(
        listed.contains("one    csv") && !listed.contains("x.txt"),
        "{listed}"
    );
    succeeded(&run(&["fetch-traces", &page, "one", "--into", &into]));
    let path = format!("{into}/one.csv");
    let info = succeeded(&run(&["info", &path]));
    assert!(info.contains("2"), "{info}");
    let error = failed(&run(&["fetch-traces", &page, "two", "--into", &into]), 2);
    assert!(error.contains("lists no trace \"two\""), "{error}");
}
