//! `tables`: the page tables of a running process, beside the kernel's own.

use std::process::{Child, Command};

use crate::support::{refused, run, succeeded};

/// A process that holds its memory still. It ends with the value.
struct Still(Child);

impl Still {
    fn started() -> Self {
        let child = Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep starts");
        std::thread::sleep(std::time::Duration::from_millis(200));
        Self(child)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_radix_table_takes_what_the_kernel_counts() {
    let still = Still::started();
    let pid = still.0.id().to_string();
    let text = succeeded(&run(&["tables", &pid, "--format", "json"]));
    let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(found["schema"], "broadleaf.tables/1");
    let tables = found["tables"].as_array().expect("tables");
    assert!(tables.len() >= 15, "{text}");
    let kernel = &found["kernel"];
    let bytes = |name: &str| kernel[name].as_i64().expect("a figure");
    // A program that gave nothing back has no empty table; its levels round up by one page each.
    let far = (bytes("bytes") - bytes("needed_bytes") - bytes("kept_bytes")).abs();
    assert!(
        far <= 3 * 4096 && far == bytes("empty_bytes").abs(),
        "{text}"
    );
    let of = |name: &str| {
        tables
            .iter()
            .find(|table| table["name"] == name)
            .expect("a table")
            .clone()
    };
    assert_eq!(of("x86-64")["nodes_per_walk"], 4.0);
    assert_eq!(of("linear-1")["lines_per_walk"], 1.0);
    // Frames are shown to root alone.
    let synonyms = found["synonyms"].as_array().expect("synonym tables");
    match found["frames_known"] == true {
        true => {
            assert!(synonyms.len() >= 4, "{text}");
            for table in synonyms {
                let pointers = table["pointers"].as_u64().expect("a number");
                let pages = found["base_pages"].as_u64().expect("a number");
                assert!(pointers > 0 && pointers <= pages, "{table}");
                assert_eq!(table["split"], 0, "{table}");
            }
        }
        false => assert!(synonyms.is_empty(), "{text}"),
    }
    let chosen = succeeded(&run(&["tables", &pid, "--table", "hashed,clustered"]));
    assert!(
        chosen.contains("hashed") && chosen.contains("VmPTE"),
        "{chosen}"
    );
    assert!(!chosen.contains("nested"), "{chosen}");
}

#[test]
fn what_is_no_process_and_no_table_is_refused() {
    let line = refused(&run(&["tables", "4194305"]));
    assert!(line.contains("4194305"), "{line}");
    let own = std::process::id().to_string();
    let line = refused(&run(&["tables", &own, "--table", "clusterd"]));
    assert!(
        line.contains("no page table is called \"clusterd\""),
        "{line}"
    );
    let output = run(&["tables", &own, "--line", "48"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
