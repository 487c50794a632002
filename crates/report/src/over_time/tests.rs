use super::*;
use crate::Paint;
use std::collections::BTreeMap;

/// Returns memory with ten samples, of a policy that holds `each` more pages each time.
fn result(policy: &str, each: u64, until: u64) -> CellResult {
    let sample = |number: u64| MemorySample {
        time: number * 100,
        resident_pages: number * each,
        free_contiguity: BTreeMap::from([(0, 4000), (9, 7 - number.min(7))]),
        page_faults: number * number,
        ..MemorySample::default()
    };
    CellResult {
        policy: policy.to_owned(),
        machine: "skylake".to_owned(),
        memory: Some(MemoryResult {
            base_page_bytes: 4096,
            page_sizes: BTreeMap::from([(4096, 1), (2 << 20, 0)]),
            over_time: (1..=until).map(sample).collect(),
            out_of_memory_after: (until < 10).then_some(until * 100),
            ..MemoryResult::default()
        }),
        ..CellResult::default()
    }
}

fn show(results: &[CellResult], glyphs: Glyphs, width: usize) -> String {
    let view = View {
        width: Some(width),
        paint: Paint::Plain,
    };
    over_time(results, 1000, glyphs, view)
}

#[test]
fn one_scale_for_all_and_what_ended_ends() {
    let results = [result("4k", 10, 10), result("greedy", 20, 5)];
    let text = show(&results, Glyphs::Ascii, 40);
    let plots = "\
4k on skylake
  resident       |                  ..
  to 400 KiB     |          ..........
                 |....................
  bloat          | none
  free 2m pages  |......
  to 12.0 MiB    |..........
                 |..............
  faults         |                ....
  to 10          |        ............
                 |....................
  disk           | none

greedy on skylake, until memory was used
up after 500 accesses
  resident       |         .
  to 400 KiB     |      ....
                 |..........
  bloat          | none
  free 2m pages  |......
  to 12.0 MiB    |.........
                 |..........
  faults         |
  to 5           |        ..
                 |..........
  disk           | none
";
    assert!(text.ends_with(plots), "{text}");
}

#[test]
fn braille_says_the_same_in_finer_steps() {
    let text = show(&[result("4k", 10, 10)], Glyphs::Braille, 40);
    assert!(text.contains("  to 400 KiB     |"), "{text}");
    assert!(text.contains('⣿'), "{text}");
}

#[test]
fn it_fits_the_terminal() {
    for width in [60, 80, 100, 200] {
        for glyphs in [Glyphs::Ascii, Glyphs::Braille] {
            let text = show(&[result("4k", 10, 10)], glyphs, width);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} > {width}\n{text}");
        }
    }
}

#[test]
fn counts_between_two_samples_are_in_the_columns() {
    let memory = result("4k", 10, 10).memory.unwrap();
    for columns in [1, 7, 10, 33] {
        let faults = rates(
            &memory.over_time,
            &|sample| sample.page_faults,
            1000,
            columns,
            1,
        );
        let sum: u64 = faults.iter().sum();
        // Each column is rounded on its own.
        assert!(sum.abs_diff(100) <= columns as u64 / 2 + 1, "{faults:?}");
    }
}

#[test]
fn nothing_without_memory_and_something_without_samples() {
    assert_eq!(show(&[CellResult::default()], Glyphs::Ascii, 80), "");
    let mut none = result("4k", 1, 10);
    none.memory.as_mut().unwrap().over_time.clear();
    let text = show(&[none], Glyphs::Ascii, 80);
    assert!(text.contains("  resident       | none\n"), "{text}");
}
