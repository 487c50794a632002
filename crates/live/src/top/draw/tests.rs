//! The text of the screen.

use super::super::screen::testing::{id, listed, screen as shown};
use super::*;
use broadleaf_metrics::HeatReport;
use broadleaf_report::MappedBlocks;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::{Duration, Instant};

/// The screen as lines, without blanks at their ends.
fn screen(content: &Screen, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it cannot fail");
    terminal
        .draw(|frame| draw(frame, content, ScreenStyle::default()))
        .expect("it cannot fail");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

#[test]
fn processes_stand_in_a_table() {
    let mut content = shown();
    content.unseen = (3, 1);
    assert_eq!(
        screen(&content, 112, 7),
        [
            "broadleaf top: pop-256, by reach",
            "     PID USER        RESIDENT   SUPERPAGES   CANDIDATES    REACH v      ADDED COMMAND",
            "      11 ann          400 MiB        25.0%           50    200 MiB   40.0 MiB /usr/bin/program-11 --size 400",
            "      12 root         200 MiB        25.0%           25    100 MiB   20.0 MiB /usr/bin/program-12 --size 200",
            "      10 root         100 MiB        25.0%           12   50.0 MiB   10.0 MiB /usr/bin/program-10 --size 100",
            "   total              700 MiB        25.0%           87    350 MiB   70.0 MiB 3 processes",
            "q quit  h help  enter picture  s order  / find  3 may not be looked at  1 still to be looked at",
        ]
    );
}

#[test]
fn a_wide_screen_shows_shares_and_whole_command_lines() {
    let mut long = listed(13, 100);
    long.line = format!("/usr/bin/server {}", "--option ".repeat(8));
    let mut content = shown();
    content.take(vec![long]);
    let screen = screen(&content, 200, 5);
    assert!(screen[2].contains("50.0 MiB  50.0%"), "{screen:?}");
    assert!(screen[2].ends_with("--option --option"), "{screen:?}");
    assert!(screen[3].ends_with("1 process"), "{screen:?}");
}

#[test]
fn the_direction_of_the_order_is_shown() {
    let mut content = shown();
    let heading = |content: &Screen| screen(content, 120, 6)[1].clone();
    assert!(heading(&content).contains("REACH v"));
    content.reversed = true;
    assert!(heading(&content).contains("REACH ^"));
    assert!(screen(&content, 120, 6)[0].ends_with("by reach, reversed"));
    content.order = ListOrder::User;
    assert!(heading(&content).contains("USER v"));
    content.reversed = false;
    assert!(heading(&content).contains("USER ^") && !heading(&content).contains("REACH v"));
}

#[test]
fn messages_are_wrapped_and_not_cut() {
    let mut content = shown();
    content.unseen = (1234, 5678);
    content.filter = "a long text that no process has in its command".to_owned();
    let text = screen(&content, 40, 16).join(" ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains("1234 may not be looked at 5678 still to be looked at"),
        "{text}"
    );
    assert!(
        text.contains("in its command, user or number. Esc shows all again."),
        "{text}"
    );
}

#[test]
fn a_narrow_screen_has_fewer_columns_and_no_cut_numbers() {
    let lines = screen(&shown(), 80, 6);
    assert!(
        lines[1].ends_with("REACH v      ADDED COMMAND"),
        "{lines:?}"
    );
    assert!(
        lines[2].contains("200 MiB   40.0 MiB /usr/bin"),
        "{lines:?}"
    );
    let lines = screen(&shown(), 40, 6);
    assert!(lines[2].contains("400 MiB /usr/bin/program"), "{lines:?}");
}

#[test]
fn a_filter_and_a_stop_are_seen() {
    let mut content = shown();
    content.filter = "-12".to_owned();
    content.paused = true;
    let lines = screen(&content, 100, 6);
    assert_eq!(lines[0], "broadleaf top: pop-256, by reach, stopped");
    assert!(
        lines[2].contains("program-12") && lines[4].contains("1 process"),
        "{lines:?}"
    );
    assert!(lines[5].ends_with("[-12]"), "{lines:?}");
    content.is_typing = true;
    assert!(screen(&content, 100, 6)[5].starts_with("show only: -12_"));
    content.filter = "redis".to_owned();
    let lines = screen(&content, 100, 6);
    assert!(
        lines[2].starts_with("No process that was looked at has \"redis\""),
        "{lines:?}"
    );
}

#[test]
fn one_process_has_a_picture() {
    let mut content = shown();
    let map = PageMap {
        mappings: vec![MappedBlocks {
            name: "[heap]".to_owned(),
            blocks: vec![(1, None), (2, Some(512)), (3, Some(60))],
        }],
    };
    content.page = ScreenPage::Process(id(11), Some(map));
    let lines = screen(&content, 100, 12);
    assert_eq!(
        lines[1],
        "program-11 (11): 400 MiB resident, 100 MiB of it in superpages"
    );
    assert_eq!(
        lines[2],
        "pop-256 would promote 50 blocks, add 40.0 MiB, and have 200 MiB of what is resident in superpages"
    );
    assert_eq!(lines[4], "0x000000200000 [heap]           |H#.|");
    assert!(lines[5].starts_with("each character is a block of 2 MiB"));
    assert_eq!(lines[11], "q back  u which blocks are used");
    content.page = ScreenPage::Process(id(999), None);
    assert!(screen(&content, 100, 12)[1].starts_with("The process has ended"));
}

#[test]
fn small_screens_and_help_do_not_fail() {
    let mut content = shown();
    for (width, height) in [(1, 1), (20, 3), (300, 80)] {
        for page in [
            ScreenPage::Processes,
            ScreenPage::Help,
            ScreenPage::Process(id(11), Some(PageMap::default())),
        ] {
            content.page = page;
            screen(&content, width, height);
        }
    }
    content.page = ScreenPage::Help;
    let lines = screen(&content, 100, 24);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("REACH           resident memory")),
        "{lines:?}"
    );
}

#[test]
fn used_blocks_take_the_place_of_the_picture() {
    let mut content = shown();
    let map = |pages| PageMap {
        mappings: vec![MappedBlocks {
            name: "[heap]".to_owned(),
            blocks: vec![(1, Some(512)), (2, Some(pages))],
        }],
    };
    content.page = ScreenPage::Process(id(11), Some(map(512)));
    content.heat = Some((id(11), ScreenHeat::Watching));
    let text = screen(&content, 80, 12).join("\n");
    assert!(text.contains("Watching which blocks are used"), "{text}");
    assert!(text.contains("|##|"), "{text}");
    assert!(
        text.ends_with("q back  process 11 is being watched"),
        "{text}"
    );
    let report = HeatReport {
        source: "damon".to_owned(),
        source_sentence: "A sentence.".to_owned(),
        seconds: 2.0,
        blocks_together: 1,
        used_blocks: 1,
        used_bytes: 2 << 20,
        blocks: Vec::new(),
        mappings: Vec::new(),
        not_used: Vec::new(),
    };
    let used = UsedMemory {
        report,
        map: Some(map(0)),
        measured: Instant::now() - Duration::from_secs(75),
    };
    content.heat = Some((id(11), ScreenHeat::Known(used.clone())));
    let text = screen(&content, 80, 12).join("\n");
    let words: Vec<&str> = text.split_whitespace().collect();
    let sentence = "Used in 2.0 s, measured 75 s ago: 2.00 MiB, in 1 of 0 blocks.";
    assert!(words.join(" ").contains(sentence), "{text}");
    assert!(text.ends_with("q back  u its memory"), "{text}");
    assert!(
        text.contains("|# |") && text.contains("Source: damon."),
        "{text}"
    );
    // The use of another process is not shown here.
    content.heat = Some((id(12), ScreenHeat::Known(used)));
    assert!(!screen(&content, 80, 12).join("\n").contains("Used in"));
}
