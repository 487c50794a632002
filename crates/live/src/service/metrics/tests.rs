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
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
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
