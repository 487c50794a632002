//! The text for a scraper.

use super::*;

#[test]
fn every_sample_follows_its_help_and_type_and_labels_are_escaped() {
    let counts = GovernorCounts {
        promotions: 7,
        refusals: [("busy", 2), ("no_extent", 1)].into(),
        looking: Duration::from_millis(1500),
        ..GovernorCounts::default()
    };
    let mut state = ServiceState::new(4, false);
    state.note_read(None);
    let snapshot = Snapshot {
        wards: vec![WardFigures {
            pid: "12".to_owned(),
            command: "a \"b\"\\\nc",
            policy: "pop-64",
            counts: &counts,
            added_bytes: 4096,
            huge_bytes: 1 << 40,
            rss_bytes: 3,
        }],
        totals: vec![("x", "pop-64", &counts)],
        machine: MachineSeen {
            available_bytes: 5,
            free_blocks: u64::MAX,
            pressure: Some(123),
        },
        finding: Duration::ZERO,
        state: &state,
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(7),
    };
    let text = render(&snapshot);
    for line in [
        r#"broadleaf_promotions_total{pid="12",command="a \"b\"\\\nc",policy="pop-64"} 7"#,
        r#"broadleaf_refusals_total{pid="12",command="a \"b\"\\\nc",policy="pop-64",reason="busy"} 2"#,
        r#"broadleaf_governor_cpu_seconds_total{pid="12",command="a \"b\"\\\nc",policy="pop-64",part="looking"} 1.5"#,
        r#"broadleaf_huge_bytes{pid="12",command="a \"b\"\\\nc",policy="pop-64"} 1099511627776"#,
        r#"broadleaf_all_promotions_total{command="x",policy="pop-64"} 7"#,
        "broadleaf_available_bytes 5",
        "broadleaf_pressure 0.0123",
        "broadleaf_processes 1",
        "broadleaf_rules 4",
        "broadleaf_dry_run 0",
        "broadleaf_last_publish_timestamp_seconds 7",
        "broadleaf_config_last_reload_successful 0",
        r#"broadleaf_config_reloads_total{result="read"} 0"#,
        r#"broadleaf_config_reloads_total{result="refused"} 1"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let build = text
        .lines()
        .find(|line| line.starts_with("broadleaf_build_info{"));
    let version = format!("version=\"{}\"", state.build.version);
    assert!(build.is_some_and(|line| line.contains(&version) && line.ends_with("} 1")));
    // Figures that are not known are left out.
    assert!(!text.contains("free_blocks"));
    let mut family = "";
    let mut seen = std::collections::BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap();
            assert!(seen.insert(family), "{family} twice");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert_eq!(rest.split(' ').next(), Some(family));
        } else {
            assert_eq!(line.split(['{', ' ']).next(), Some(family), "{line}");
        }
        assert!(family.starts_with("broadleaf_"));
    }
}
