//! Records for tests.

use broadleaf_metrics::{
    BlockCounts, LiveReport, PolicyForecast, PopulationBar, ProcessReport, Provenance,
    UnseenProcess,
};

/// Returns a process of 8 MiB, of which `full` blocks would be promoted.
pub(super) fn process(pid: u32, full: u64) -> ProcessReport {
    let bar = |from, to, anonymous, file| PopulationBar {
        from,
        to,
        blocks: anonymous + file,
        anonymous,
        shmem: 0,
        file,
    };
    let forecast = |policy: &str, would_promote: u64| PolicyForecast {
        policy: policy.to_owned(),
        would_promote,
        added_bytes: would_promote * 4096,
        covered_bytes: (2 << 20) + would_promote * 8192,
        refusals: [
            ("too_few_resident".to_owned(), 200),
            ("file_backed".to_owned(), 3),
        ]
        .into(),
    };
    ProcessReport {
        pid,
        command: "redis-server".to_owned(),
        rss_bytes: 8 << 20,
        huge_bytes: 2 << 20,
        blocks: BlockCounts {
            anonymous: full + 1,
            shmem: 0,
            file: 1,
        },
        population_histogram: vec![bar(1, 64, 0, 1), bar(65, 512, full, 0)],
        policies: vec![forecast("4k", 0), forecast("pop-256", full)],
        heat: None,
    }
}

/// Returns a report of these processes, with an unreadable process and a note.
pub(super) fn report(processes: Vec<ProcessReport>) -> LiveReport {
    LiveReport {
        schema: broadleaf_metrics::REPORT_SCHEMA.to_owned(),
        processes,
        unseen: vec![UnseenProcess {
            pid: 9,
            command: "init".to_owned(),
            reason: "not yours".to_owned(),
        }],
        notes: vec!["a note".to_owned()],
        governed: None,
        provenance: Provenance {
            version: String::new(),
            commit: String::new(),
            config_hash: String::new(),
            host: String::new(),
        },
    }
}
