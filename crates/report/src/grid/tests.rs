//! Alignment, wrapping, cutting and splitting.

use super::*;
use crate::Paint;

fn sample() -> Grid {
    let mut grid = Grid::new()
        .column("name", Align::Left)
        .column("count", Align::Right)
        .column("what", Align::Left);
    grid.row(["a", "1", "one short"]);
    grid.row(["bcd", "12345678", ""]);
    grid
}

#[test]
fn columns_are_aligned_and_no_line_ends_in_blanks() {
    assert_eq!(
        sample().render(View::default()),
        "name     count  what\n----  --------  ---------\na            1  one short\nbcd   \
         12345678\n"
    );
    assert_eq!(sample().width(), 25);
}

#[test]
fn the_last_column_is_wrapped_where_the_view_is_narrow() {
    let mut grid = sample();
    grid.row([
        "e",
        "2",
        "a long sentence that does not fit a narrow view at all",
    ]);
    let text = grid.render(View {
        width: Some(40),
        ..View::default()
    });
    assert!(text.lines().all(|line| line.len() <= 40), "{text}");
    assert!(
        text.contains("\n                does not fit a narrow\n"),
        "{text}"
    );
}

#[test]
fn colour_does_not_move_columns() {
    let mut grid = Grid::new().column("", Align::Right).column("", Align::Left);
    grid.row([
        Cell {
            text: "1".to_owned(),
            style: Style::Best,
        },
        "x".into(),
    ]);
    grid.row([Cell::from("10"), "y".into()]);
    let text = grid.render(View {
        width: None,
        paint: Paint::Colour,
    });
    assert_eq!(text, " \x1b[32m1\x1b[0m  x\n10  y\n");
}

/// A figure may have a mark at its end. Blanks keep its place, so that digits are below each other.
#[test]
fn blanks_at_the_end_of_a_figure_keep_its_place() {
    let mut grid = Grid::new().column("", Align::Right).column("", Align::Left);
    grid.row([Cell::from("10*"), "x".into()]);
    let text = "9 ".to_owned();
    let style = Style::Best;
    grid.row([Cell { text, style }, "y".into()]);
    assert_eq!(grid.render(View::default()), "10*  x\n 9   y\n");
    let text = grid.render(View {
        width: None,
        paint: Paint::Colour,
    });
    assert_eq!(text, "10*  x\n \x1b[32m9\x1b[0m   y\n");
}

#[test]
fn a_grid_of_numbers_wraps_its_headings_and_then_splits() {
    let mut grid = Grid::new()
        .column("process", Align::Right)
        .cut_column("command", 8)
        .column("would promote", Align::Right)
        .column("then in superpages", Align::Right)
        .keys(2);
    grid.row(["1", "a-long-name-of-a-program", "12", "3.4%"]);
    for (width, blocks) in [(80, 1), (50, 1), (40, 1), (30, 2)] {
        let view = View {
            width: Some(width),
            ..View::default()
        };
        let text = grid.render(view);
        assert!(text.lines().all(|line| length(line) <= width), "{text}");
        assert_eq!(text.matches("process").count(), blocks, "{text}");
        assert!(text.contains("12") && text.contains("3.4%"), "{text}");
    }
}

#[test]
fn a_word_that_is_too_long_for_its_column_starts_further_left() {
    let mut grid = Grid::new().column("", Align::Left).column("", Align::Left);
    grid.row(["a fact of the file", "0123456789012345678901234"]);
    let text = grid.render(View {
        width: Some(30),
        ..View::default()
    });
    assert_eq!(text, "a fact of the file\n     0123456789012345678901234\n");
}

#[test]
fn wide_characters_take_two_columns() {
    let mut grid = Grid::new().column("", Align::Left).column("", Align::Left);
    grid.row(["日本", "x"]);
    grid.row(["abcd", "y"]);
    assert_eq!(grid.render(View::default()), "日本  x\nabcd  y\n");
}

#[test]
fn words_are_wrapped_at_blanks() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
    assert_eq!(wrap("", 3), [""]);
}

#[test]
fn a_wrapped_column_keeps_the_grid_in_one_block() {
    let grid = |wraps: bool| {
        let grid = Grid::new().column("metric", Align::Left);
        let grid = match wraps {
            true => grid.wrapped_column("unit", 11),
            false => grid.column("unit", Align::Left),
        };
        let mut grid = grid.column("what it counts", Align::Left);
        let sentence = "Lookups that missed the second level as well.";
        grid.row(["a-name-of-many-letters", "cycles per instruction", sentence]);
        grid.render(View {
            width: Some(60),
            ..View::default()
        })
    };
    assert_eq!(grid(false).matches("metric").count(), 2);
    let text = grid(true);
    assert_eq!(text.matches("metric").count(), 1, "{text}");
    assert!(text.lines().all(|line| length(line) <= 60), "{text}");
    assert!(text.contains("  cycles per   Lookups"), "{text}");
    assert!(text.contains("  instruction  "), "{text}");
}

#[test]
fn wide_words_are_wrapped_whole() {
    let words = [
        "日本語の",
        "大きな",
        "ページは",
        "速い",
        "プログラムを",
        "速くする",
    ];
    let mut grid = Grid::new()
        .column("name", Align::Left)
        .column("", Align::Left);
    grid.row(["頁".to_owned(), words.join(" ")]);
    for width in [26, 30, 40] {
        for paint in [Paint::Plain, Paint::Colour] {
            let text = grid.render(View {
                width: Some(width),
                paint,
            });
            let plain = text.replace("\x1b[1m", "").replace("\x1b[2m", "");
            let plain = plain.replace("\x1b[0m", "");
            assert!(plain.lines().all(|line| length(line) <= width), "{text}");
            assert!(plain.lines().count() > 3, "{text}");
            let found: Vec<&str> = plain.split_whitespace().skip(3).collect();
            assert_eq!(found[1..], words, "{text}");
        }
    }
}

#[test]
fn a_word_that_is_too_long_follows_the_row_where_there_is_room() {
    let mut grid = Grid::new().column("", Align::Left).column("", Align::Left);
    grid.row(["a fact of the file", "short"]);
    grid.row(["file", "see 0123456789012345678901234 and more"]);
    grid.row(["f", "0123456789012345678901234"]);
    let text = grid.render(View {
        width: Some(30),
        ..View::default()
    });
    let lines = [
        "a fact of the file  short",
        "file                see",
        "     0123456789012345678901234",
        "                    and more",
        "f    0123456789012345678901234",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), lines, "{text}");
}
