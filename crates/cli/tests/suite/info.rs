//! `info`: what a trace holds.

use crate::support::{file, folder, lackey, run, run_with, succeeded};
use serde_json::Value;

#[test]
fn a_lackey_text_is_counted() {
    let folder = folder("info-lackey");
    let text = lackey(300);
    let path = file(&folder, "x.lackey", text.as_bytes());
    let answer: Value =
        serde_json::from_str(&succeeded(&run(&["info", &path, "--format", "json"]))).unwrap();
    assert_eq!(answer["schema"], "broadleaf.info/1");
    assert_eq!(answer["accesses"], 600);
    assert_eq!(answer["pages"], 300);
    assert_eq!(answer["instructions"], 600);
    assert_eq!(answer["events"], serde_json::json!({}));
    assert_eq!(answer["trace"]["format"], "lackey");
    assert_eq!(answer["trace"]["bytes"], text.len());
    let from_pipe: Value = serde_json::from_str(&succeeded(&run_with(
        &["info", "-", "--format", "json"],
        text.as_bytes(),
    )))
    .unwrap();
    assert_eq!(from_pipe["trace"]["hash"], answer["trace"]["hash"]);
    let table = succeeded(&run(&["info", &path]));
    for part in ["600 (", "300 (1.17 MiB)", "none"] {
        assert!(table.contains(part), "{table}");
    }
}
