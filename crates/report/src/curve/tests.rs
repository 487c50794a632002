use super::*;
use crate::Paint;
use broadleaf_metrics::CurvePoint;

/// Returns a curve of all counted geometries with these misses.
fn curve(page_size: u64, misses: impl Fn(u64, u64) -> u64) -> Vec<CurvePoint> {
    let shallow = (0..=12).flat_map(|power| (1..=16).map(move |ways| (1 << power, ways)));
    let deep = (5..=12).map(|power| (1, 1 << power));
    shallow
        .chain(deep)
        .map(|(sets, ways)| CurvePoint {
            page_size,
            sets,
            ways,
            misses: misses(sets, ways),
        })
        .collect()
}

fn result(policy: &str, curves: [Vec<CurvePoint>; 2]) -> CellResult {
    CellResult {
        policy: policy.to_owned(),
        machine: "skylake".to_owned(),
        curve: Some(curves.concat()),
        ..CellResult::default()
    }
}

/// Returns misses that fall with the entries, faster with more ways, down to `least`.
fn falling(from: u64, least: u64) -> impl Fn(u64, u64) -> u64 {
    move |sets, ways| {
        (from / (sets * ways) + if ways == 1 { from / 99 / sets } else { 0 }).max(least)
    }
}

const BASE: u64 = 4096;
const SUPER: u64 = 2 << 20;

fn sample() -> Vec<CellResult> {
    let none = || curve(SUPER, |_, _| 0);
    vec![
        result("4k", [curve(BASE, falling(123_456_789, 1_000_000)), none()]),
        result(
            "pop-64",
            [
                curve(BASE, falling(4_000_000, 900)),
                curve(SUPER, falling(9000, 40)),
            ],
        ),
        result(
            "twin",
            [curve(BASE, falling(123_456_789, 1_000_000)), none()],
        ),
        // Another machine's result has the same curve.
        result("4k", [curve(BASE, falling(123_456_789, 1_000_000)), none()]),
    ]
}

fn view(width: usize, paint: Paint) -> View {
    View {
        width: Some(width),
        paint,
    }
}

/// Returns `text` without colours.
fn plain(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push_str(&piece[piece.find('m').expect("a colour ends") + 1..]);
    }
    out
}

fn two() -> [CellResult; 2] {
    [
        result("4k", [curve(BASE, falling(10_000_000, 9_000)), Vec::new()]),
        result("pop-64", [curve(BASE, falling(100_000, 900)), Vec::new()]),
    ]
}

#[test]
fn a_plot_and_a_table_for_each_line() {
    let text = curves(&two(), Glyphs::Ascii, view(72, Paint::Plain));
    assert!(text.starts_with(include_str!("ascii.txt")), "{text}");
    let table = "\
4k pages: misses by associativity under pop-64
entries    1 way  2 ways  4 ways  8 ways  16 ways  all ways
-------  -------  ------  ------  ------  -------  --------
      1  101,010                                    101,010
      2   50,505  50,000                             50,000
      4   25,252  25,000  25,000                     25,000
      8   12,626  12,500  12,500  12,500             12,500
     16    6,313   6,250   6,250   6,250    6,250     6,250
     32    3,156   3,125   3,125   3,125    3,125     3,125
     64    1,577   1,562   1,562   1,562    1,562     1,562
    128      900     900     900     900      900       900
Larger ones miss as often.
";
    assert!(text.ends_with(table), "{text}");
}

#[test]
fn braille_where_there_is_some_and_colours_that_say_nothing_new() {
    let text = curves(&two(), Glyphs::Braille, view(40, Paint::Plain));
    assert!(text.contains(include_str!("braille.txt")), "{text}");
    let coloured = curves(&two(), Glyphs::Braille, view(40, Paint::Colour));
    assert!(coloured.contains("\x1b[36ma") && coloured.contains("\x1b[33mb"));
    assert_eq!(plain(&coloured), text);
}

#[test]
fn policies_with_the_same_curve_are_one_line_and_those_without_pages_none() {
    let text = curves(&sample(), Glyphs::Ascii, View::default());
    let has = |wanted: &str| assert!(text.contains(wanted), "{wanted} in\n{text}");
    has("\n  a  4k, twin\n  b  pop-64\n");
    has("4k pages: misses by associativity under 4k, twin\n");
    has("\nWithout 2m pages: 4k, twin\n");
    has("2m pages: misses by associativity under pop-64\n");
    assert!(!text.contains("4k, twin, 4k"), "{text}");
    let without_superpages = [result("4k", [curve(SUPER, |_, _| 0), Vec::new()])];
    let text = curves(&without_superpages, Glyphs::Ascii, View::default());
    assert!(text.ends_with("\n\nWithout 2m pages: 4k\n"), "{text}");
    assert_eq!(
        curves(&[CellResult::default()], Glyphs::Ascii, View::default()),
        ""
    );
}

#[test]
fn lines_that_meet_show_their_letters_by_turns() {
    // From 64 entries on, all miss alike. With fewer entries, each misses differently.
    let several: Vec<CellResult> = (0..3)
        .map(|number| {
            let misses = move |sets: u64, ways: u64| match sets * ways {
                few if few < 64 => 100_000 + number * 50_000,
                _ => 70,
            };
            result(&format!("p{number}"), [curve(BASE, misses), Vec::new()])
        })
        .collect();
    let text = curves(&several, Glyphs::Ascii, view(80, Paint::Plain));
    let lowest = text.lines().find(|line| line.starts_with("    70 |"));
    let letters: String = lowest
        .expect("a label for the lowest row")
        .chars()
        .filter(char::is_ascii_alphabetic)
        .collect();
    assert_eq!(letters, "abcabca", "{text}");
}

#[test]
fn it_fits_the_terminal_with_one_policy_or_many() {
    for many in [1, 19, 60] {
        let results: Vec<CellResult> = (0..many)
            .map(|number| {
                let base = curve(
                    BASE,
                    falling(u64::MAX >> number.clamp(8, 28), 1_000 + number),
                );
                result(&format!("policy-{number}"), [base, Vec::new()])
            })
            .collect();
        for width in [60, 80, 100, 200] {
            for glyphs in [Glyphs::Ascii, Glyphs::Braille] {
                let text = curves(&results, glyphs, view(width, Paint::Plain));
                let widest = text.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(width), "{widest:?} > {width}\n{text}");
            }
        }
    }
}

#[test]
fn one_level_of_misses_is_drawn_on_top() {
    let flat = [result("4k", [curve(BASE, |_, _| 5), Vec::new()])];
    let text = curves(&flat, Glyphs::Ascii, view(80, Paint::Plain));
    assert!(text.contains("\n     5 |a....a"), "{text}");
    assert_eq!(text.matches("5 |").count(), 1, "{text}");
}

#[test]
fn a_policy_with_two_curves_has_a_line_for_each_machine() {
    let of = |policy: &str, machine: &str, from| CellResult {
        machine: machine.to_owned(),
        ..result(policy, [curve(BASE, falling(from, 9_000)), Vec::new()])
    };
    let results = [
        of("4k", "skylake", 10_000_000),
        of("4k", "zen4", 10_000_000),
        of("linux", "skylake", 100_000),
        of("linux", "zen4", 200_000),
    ];
    let text = curves(&results, Glyphs::Ascii, View::default());
    for line in ["a  4k", "b  linux on skylake", "c  linux on zen4"] {
        assert!(text.contains(&format!("\n  {line}\n")), "{line} in\n{text}");
    }
}
