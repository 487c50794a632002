//! Report pages: what commands write, and how a browser shows it.
#![allow(
    clippy::disallowed_macros,
    reason = "a test says why it is skipped, and where its pictures are"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::live::{Python, can_attach, can_govern, is_installed};
use crate::support::{file, folder, golden, lackey, refused, run, stderr, succeeded};

/// The folder of the page's sources.
fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
}

/// Returns true if a program runs.
fn has(program: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

/// The tools of the page, installed once as the lock file says. `Err` has the reason why they
/// cannot be.
fn tools() -> Result<(), String> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    INSTALLED.get_or_init(install_tools).clone()
}

fn install_tools() -> Result<(), String> {
    let version = Command::new("node").arg("--version").output();
    let version = version.map_err(|_| "node is not installed")?.stdout;
    let version = String::from_utf8_lossy(&version);
    let major = version.trim_start_matches('v').split('.').next();
    let major: u32 = major.and_then(|major| major.parse().ok()).unwrap_or(0);
    if major < 20 {
        return Err(format!("node {} is older than 20", version.trim()));
    }
    if !has("npm") {
        return Err("npm is not installed".to_owned());
    }
    let (wanted, there) = (
        web().join("package-lock.json"),
        web().join("node_modules/.package-lock.json"),
    );
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if time(&there) >= time(&wanted) {
        return Ok(());
    }
    let output = Command::new("npm").arg("ci").current_dir(web()).output();
    let output = output.map_err(|error| error.to_string())?;
    assert!(output.status.success(), "npm ci: {}", stderr(&output));
    Ok(())
}

/// The records that a page holds.
fn records(page: &Path) -> Vec<Value> {
    let html = fs::read_to_string(page).expect("a page");
    let start = r#"<script id="broadleaf-records" type="application/json">"#;
    let (_, rest) = html.split_once(start).expect("the page has records");
    let (records, _) = rest.split_once("</script>").expect("the records end");
    serde_json::from_str(records).expect("records are JSON")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

#[test]
fn a_page_holds_what_json_prints_and_replaces_no_file() {
    let folder = folder("page");
    let trace = file(&folder, "x.lackey", lackey(700).as_bytes());
    let page = folder.join("x.html");
    let compare = |more: &[&str]| {
        let options = [
            "compare",
            &trace,
            "--policy",
            "pop-64",
            "--html",
            text(&page),
        ];
        run(&[&options[..], more].concat())
    };
    let output = compare(&["--format", "json"]);
    let printed: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
    assert!(stderr(&output).contains("x.html: open it in a browser"));
    let held = records(&page);
    assert_eq!(held[0], printed);
    let schemas: Vec<&str> = held
        .iter()
        .filter_map(|one| one["schema"].as_str())
        .collect();
    let expected = ["compare", "references", "metrics", "policies"];
    assert_eq!(schemas, expected.map(|name| format!("broadleaf.{name}/1")));
    // The page compares with 4k, which the request does not name.
    assert_eq!(held[1]["results"][0]["policy"], "4k");
    assert!(refused(&compare(&[])).contains("x.html"));
    succeeded(&compare(&["--force"]));
    let same = compare(&["-o", text(&page), "--force"]);
    assert!(refused(&same).contains("cannot be the same file"));
    let stdout = run(&["compare", &trace, "--html", "-"]);
    assert!(stderr(&stdout).contains("a page needs a file"));
    let input = run(&["compare", &trace, "--html", &trace, "--force"]);
    assert!(refused(&input).contains("would be written over"));
}

/// A map is in the result if a page or the user asks for it.
#[test]
fn maps_are_recorded_on_demand() {
    let folder = folder("page-maps");
    let trace = file(&folder, "x.lackey", lackey(700).as_bytes());
    let compare = |more: &[&str]| -> Value {
        let options = ["compare", &trace, "--policy", "pop-64", "--format", "json"];
        let output = run(&[&options[..], more].concat());
        serde_json::from_str(&succeeded(&output)).expect("JSON")
    };
    assert!(compare(&[]).get("maps").is_none());
    let maps = |value: &Value| -> Vec<String> {
        let maps = value["maps"].as_array().expect("maps");
        maps.iter()
            .map(|map| map["policy"].as_str().expect("a policy").to_owned())
            .collect()
    };
    let asked = compare(&["--map", "linux,pop-64"]);
    assert_eq!(maps(&asked), ["linux", "pop-64"]);
    let page = folder.join("x.html");
    let paged = compare(&["--html", text(&page)]);
    assert_eq!(maps(&paged), ["pop-64", "4k"]);
    let cycles = |value: &Value| value["results"][0]["walk_cycles"].clone();
    assert_eq!(cycles(&paged), paged["maps"][0]["walk_tree"]["walk_cycles"]);
    assert_eq!(cycles(&paged), cycles(&compare(&[])));
    let unknown = run(&["compare", &trace, "--map", "pop64"]);
    assert!(refused(&unknown).contains("pop-64"));
}

/// The committed page is what its sources build, so that a build with Cargo alone has the newest.
#[test]
fn the_committed_page_is_that_of_its_sources() {
    let locked = fs::read_to_string(web().join("package-lock.json")).expect("a lock file");
    assert!(
        !locked.contains("\"resolved\""),
        "the lock file names a registry"
    );
    if let Err(why) = tools() {
        eprintln!("skipped: the page is not built again, because {why}");
        return;
    }
    let built = folder("page-built");
    let output = Command::new("npm")
        .args(["run", "build", "--", "--outDir", text(&built)])
        .current_dir(web())
        .output()
        .expect("npm runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |path: PathBuf| fs::read_to_string(path).expect("a page");
    let same = read(built.join("report.html")) == read(web().join("dist/report.html"));
    assert!(
        same,
        "web/dist/report.html is not what web/ builds: run make web"
    );
}

/// Writes pages to a folder, each beside the JSON of the same command.
fn pages(folder: &Path) {
    let page = |name: &str, arguments: &[&str]| {
        let (html, json) = (
            folder.join(format!("{name}.html")),
            folder.join(format!("{name}.json")),
        );
        let files = ["--format", "json", "-o", text(&json), "--html", text(&html)];
        succeeded(&run(&[arguments, &files].concat()));
    };
    // Users' files lie deep, and no line of a page may be as wide as a path.
    let deep = folder.join("folders-of-users/have-names-as-long-as-this-one-which-nothing-breaks");
    fs::create_dir_all(&deep).expect("a folder");
    let traces = golden();
    let named = |name: &str| {
        let trace = traces.iter().find(|trace| trace.ends_with(name));
        let copy = deep.join(name);
        fs::copy(trace.expect("a recording"), &copy).expect("a copy");
        text(&copy).to_owned()
    };
    let (sort, blocks) = (named("sort.bl"), named("blocks.bl"));
    // Huge pages gain nothing in the recording of `sort`, and the advice would have no ranges.
    let offline = ["advise", &blocks];
    page("advise", &offline);
    page("compare-curve", &["compare", &sort, "--curve"]);
    page(
        "compare-machines",
        &[
            "compare",
            &blocks,
            "--machine",
            "skylake,skylake-unified-96",
        ],
    );
    let policies = "4k,freebsd,linux,navarro,pop-64";
    let memory = ["compare", &blocks, "--memory", "200%", "--policy", policies];
    page("compare-memory", &memory);
    page(
        "several",
        &["compare", &sort, &blocks, "--policy", policies],
    );
    // Pages of commands that print no JSON to a file.
    let html = |name: &str| folder.join(format!("{name}.html"));
    let paper = html("paper");
    let experiments = ["paper", "navarro2002", "--tiny", "--html", text(&paper)];
    succeeded(&run(&experiments));
    let pid = std::process::id().to_string();
    let report = html("report");
    let report = run(&["report", &pid, "--format", "json", "--html", text(&report)]);
    fs::write(folder.join("report.json"), succeeded(&report)).expect("JSON is written");
    let journal = folder.join("run.journal");
    let dry_run = ["run", "--dry-run", "--journal", text(&journal)];
    let perl = is_installed("perl");
    let program: &[&str] = if perl {
        &["perl", "-e", PROGRAM]
    } else {
        &["true"]
    };
    governed("run", folder, &dry_run, program);
    page("replay", &["replay", text(&journal)]);
    live_pages(folder);
    if can_govern() && perl {
        governed("baseline", folder, &["run", "--baseline", "1"], program);
        let trace = folder.join("measured.bl");
        let record = ["record", "--measure", "1", "-o", text(&trace)];
        let output = run(&[&record[..], &["--"], program].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        page(
            "compare-measured",
            &["compare", text(&trace), "--policy", policies],
        );
    }
}

/// A program of some megabytes, which it reads in an order that TLBs miss.
const PROGRAM: &str =
    "$s = 'x' x 12e6; for (1 .. 3e4) { $n += ord substr $s, $_ * 40507 % 12e6, 1 }";

/// A process that uses a quarter of its memory until its end.
const USED: &str = "memory = bytearray(32 << 20)
for page in range(0, len(memory), 4096): memory[page] = 1
print('touched', flush=True)
while True:
    for page in range(0, len(memory) // 4, 4096): memory[page] ^= 1
";

/// Writes the page of a program under a governor, and its JSON.
fn governed(name: &str, folder: &Path, command: &[&str], program: &[&str]) {
    let [html, json] = ["html", "json"].map(|form| folder.join(format!("{name}.{form}")));
    let files = ["--format", "json", "-o", text(&json), "--html", text(&html)];
    succeeded(&run(&[command, &files, &["--"], program].concat()));
}

/// Writes the pages of a process that runs: its heat, and a governor that attaches to it. Either is
/// left out where this user's rights or the kernel do not allow it.
fn live_pages(folder: &Path) {
    if !is_installed("python3") {
        return;
    }
    let process = Python::start(USED);
    let pid = process.child.id().to_string();
    let [html, json] = ["html", "json"].map(|form| folder.join(format!("heat.{form}")));
    let heat = ["report", &pid, "--heat", "0.2", "--format", "json"];
    let output = run(&[&heat[..], &["--html", text(&html)]].concat());
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if printed["processes"][0]["heat"].is_object() {
        fs::write(json, succeeded(&output)).expect("JSON is written");
    } else {
        eprintln!("skipped: there is no page of heat: {}", stderr(&output));
        let _ = fs::remove_file(html);
    }
    if can_attach() {
        let [html, json] = ["html", "json"].map(|form| folder.join(format!("attach.{form}")));
        let files = ["--format", "json", "-o", text(&json), "--html", text(&html)];
        let attach = ["attach", &pid, "--for", "0.6"];
        succeeded(&run(&[&attach[..], &files].concat()));
    }
}

#[test]
fn a_browser_shows_the_figures_of_the_json() {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    if !names.iter().any(|name| has(name)) {
        eprintln!("skipped: no page is looked at, because Chromium is not installed");
        return;
    }
    if let Err(why) = tools() {
        eprintln!("skipped: no page is looked at, because {why}");
        return;
    }
    let (written, shots) = (folder("pages"), folder("page-screenshots"));
    pages(&written);
    let output = Command::new("node")
        .args(["--test", "tests/index.mjs"])
        .current_dir(web())
        .env("BROADLEAF_PAGES", &written)
        .env("BROADLEAF_SCREENSHOTS", &shots)
        .output()
        .expect("node runs");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}\n{}", stderr(&output));
    assert!(!report.contains("# pass 0"), "{report}");
    println!("screenshots are in {}", shots.display());
}
