//! The machine file of a probe.
//!
//! Each number has a comment: `measured` with its confidence, or `chosen` where the format needs a
//! value that the chases left open.

use std::fmt::Write;

use broadleaf_metrics::ProbedSpan;
use broadleaf_probe::{Analysis, Finding, LevelFound};
use broadleaf_tlb::{IndexFunction, Replacement};
use broadleaf_units::PageSize;

/// The inputs of a machine file.
#[derive(Debug)]
pub(super) struct Described<'a> {
    /// The processor, as `--machine native` compares it.
    pub fingerprint: &'a str,
    /// The findings on base pages.
    pub base: &'a Analysis,
    /// The findings on pages of 2 MiB. `None` if there are none.
    pub huge: Option<&'a Analysis>,
    /// True if a page of 2 MiB enters the TLB as pages of 4 KiB.
    pub breaks_huge: bool,
    /// The cycles of walks and their confidence: base pages, and pages of 2 MiB.
    pub walks: [Option<(f64, f64)>; 2],
    /// The cycles of loads by span and page size.
    pub loads: &'a [ProbedSpan],
    /// The values that stay open, in words.
    pub open: &'a [String],
}

/// A machine file, and its chosen values.
#[derive(Debug, PartialEq)]
pub(super) struct MachineText {
    pub text: String,
    pub chosen: Vec<String>,
}

/// The walk costs that are chosen if none was measured: Skylake's (Zhu 2018, chapter 6).
const CHOSEN_WALKS: [u64; 2] = [35, 21];

/// The file. `None` if the first level for base pages is open, so that there is nothing to say.
pub(super) fn describe(of: &Described<'_>) -> Option<MachineText> {
    of.base.first.entries.value?;
    let mut file = MachineText {
        text: header(of),
        chosen: Vec::new(),
    };
    let huge = of.huge.filter(|_| !of.breaks_huge);
    file.level(of, 1, &of.base.first, huge.map(|found| &found.first));
    if let Some(second) = &of.base.second {
        let huge = huge.and_then(|found| found.second.as_ref());
        file.level(of, 2, second, huge);
    }
    file.text += "[walk-cycles]\n";
    let sizes = [("4k", 0), ("2m", 1)];
    for (size, at) in sizes {
        let _ = match of.walks[at] {
            Some((cycles, confidence)) => writeln!(
                file.text,
                "{size} = {cycles:.0} # measured, confidence {confidence:.2}: tables in a cache"
            ),
            None => {
                file.chosen.push(format!("walk-cycles {size}"));
                let base = of.walks[0].map_or(CHOSEN_WALKS[0], |(cycles, _)| cycles.round() as u64);
                let cycles = CHOSEN_WALKS[at].min(base);
                let source = "chosen: Skylake's (Zhu 2018, chapter 6), or that of 4k";
                writeln!(file.text, "{size} = {cycles} # {source}")
            }
        };
    }
    file.loads(of.loads);
    Some(file)
}

fn header(of: &Described<'_>) -> String {
    let mut text = String::from("# Written by `broadleaf probe` from pointer chases.\n");
    for open in of.open {
        let _ = writeln!(text, "# Not determined: {open}");
    }
    let breaks = match of.breaks_huge {
        true => {
            "A page of 2 MiB enters this TLB as pages of 4 KiB: the host maps small pages. So huge \
             pages spare no walks, and make them shorter. "
        }
        false => "",
    };
    let fractured = match of.breaks_huge {
        true => "fractured = [\"2m\"] # measured\n",
        false => "",
    };
    let _ = write!(
        text,
        "\nname = \"native\"\nsummary = \"This computer, measured by broadleaf probe\"\n\
         explanation = \"\"\"\n{breaks}Loads alone are measured; stores have the same structures \
         here. Costs are cycles of the core.\"\"\"\nsource = \"broadleaf probe on {}\"\n{fractured}\n",
        of.fingerprint.replace(['"', '\\'], "'")
    );
    text
}

/// The entries, ways and index of a structure, and how each is known.
struct Shape {
    entries: usize,
    ways: usize,
    index: String,
    source: String,
}

impl Shape {
    /// The shape that was measured.
    fn measured(level: &LevelFound) -> Option<Self> {
        let index = level.index.value.as_ref()?;
        Some(Self {
            entries: level.entries.value?,
            ways: level.ways.value?,
            index: index.to_string(),
            source: format!("measured, confidence {:.2}", level.entries.confidence),
        })
    }

    /// The shape that is chosen for a level of this capacity: eight ways and the lowest bits.
    fn chosen(capacity: usize, size: PageSize) -> Self {
        // A row may exceed the entries by some, so the nearest power of two counts.
        let above = capacity.next_power_of_two();
        let is_nearer = 4 * capacity >= 3 * above;
        let entries = if is_nearer { above } else { above / 2 }.max(8);
        let sets = (entries / 8) as u64;
        Self {
            entries,
            ways: 8,
            index: low_bits(sets, size),
            source: format!("chosen: {capacity} pages in a row fit"),
        }
    }
}

/// The lowest bits of a page number that select one of this number of sets.
fn low_bits(sets: u64, size: PageSize) -> String {
    let low = u32::from(size.shift());
    match sets.trailing_zeros() {
        0 => IndexFunction::none().to_string(),
        bits => format!("va[{}:{low}]", low + bits - 1),
    }
}

impl MachineText {
    /// The structures of a level. One structure holds both sizes if they have equal shapes and all
    /// entries are one set, or if the larger size is open at the second level.
    fn level(
        &mut self,
        of: &Described<'_>,
        level: usize,
        base: &LevelFound,
        huge: Option<&LevelFound>,
    ) {
        let shape = Shape::measured(base).unwrap_or_else(|| {
            self.chosen.push(format!("L{level} 4k structure"));
            Shape::chosen(base.capacity.value.unwrap_or(1024), PageSize::SIZE_4K)
        });
        let rule = self.rule(&base.rules, shape.ways, &format!("L{level} 4k replacement"));
        let huge_shape = huge.and_then(Shape::measured);
        let is_one_set = shape.entries == shape.ways;
        let is_shared = match &huge_shape {
            Some(huge) => (huge.entries, huge.ways) == (shape.entries, shape.ways),
            None => is_one_set || level == 2,
        };
        let mut index = vec![("4k", shape.index.clone())];
        let mut remark = String::new();
        if !of.breaks_huge && is_shared {
            let sets = (shape.entries / shape.ways) as u64;
            let of_huge = huge_shape.as_ref().map(|huge| huge.index.clone());
            if of_huge.is_none() {
                self.chosen.push(format!("L{level} 2m structure"));
                remark = "# 2m chosen: in the same entries, by the lowest bits\n".to_owned();
            } else {
                remark = "# chosen: one structure for both sizes, whose shapes are alike\n".into();
            }
            let lowest = low_bits(sets, PageSize::SIZE_2M);
            index.push(("2m", of_huge.unwrap_or(lowest)));
        }
        self.structure(&format!("l{level}"), level, &shape, &rule, &index, &remark);
        if of.breaks_huge || is_shared {
            return;
        }
        let own = huge_shape.unwrap_or_else(|| {
            self.chosen.push(format!("L{level} 2m structure"));
            Shape {
                entries: 32,
                ways: 4,
                index: "va[24:22]".to_owned(),
                source: "chosen: as on Skylake (Zhu 2018, table 4.1)".to_owned(),
            }
        });
        let open = Finding::open("not examined");
        let rules = huge.map_or(&open, |huge| &huge.rules);
        let rule = self.rule(rules, own.ways, &format!("L{level} 2m replacement"));
        let index = [("2m", own.index.clone())];
        self.structure(&format!("l{level}-2m"), level, &own, &rule, &index, "");
    }

    /// The cycles of loads, from which run times are estimated.
    fn loads(&mut self, loads: &[ProbedSpan]) {
        for load in loads {
            let ProbedSpan {
                mib,
                page_size,
                dependent_cycles,
                independent_cycles,
            } = load;
            let _ = write!(
                self.text,
                "\n[[load-cycles]] # measured: a line of each 4 KiB, in random order\n\
                 span = \"{mib}M\"\npage = \"{page_size}\"\ndependent = {dependent_cycles:.1}\n\
                 independent = {independent_cycles:.1}\n"
            );
        }
    }

    fn structure(
        &mut self,
        name: &str,
        level: usize,
        shape: &Shape,
        rule: &str,
        index: &[(&str, String)],
        remark: &str,
    ) {
        let index: Vec<String> = index
            .iter()
            .map(|(size, index)| format!("{size} = \"{index}\""))
            .collect();
        let Shape {
            entries,
            ways,
            source,
            ..
        } = shape;
        let _ = write!(
            self.text,
            "[[tlb]]\nname = \"{name}\"\nlevel = {level}\nentries = {entries} # {source}\n\
             ways = {ways} # {source}\n{rule}{remark}index = {{ {} }} # {source}\n\n",
            index.join(", ")
        );
    }

    /// The line of the replacement rule.
    fn rule(&mut self, rules: &Finding<Vec<&'static str>>, ways: usize, name: &str) -> String {
        let candidates = rules.value.as_deref().unwrap_or(&[]);
        if let [one] = candidates {
            let confidence = rules.confidence;
            return format!("replacement = \"{one}\" # measured, confidence {confidence:.2}\n");
        }
        self.chosen.push(name.to_owned());
        let usual = ["tree-plru", "lru"].into_iter().find(|rule| {
            Replacement::named(rule).is_some_and(|rule| (rule.refuses)(ways).is_none())
        });
        let rule = candidates.first().copied().or(usual).unwrap_or("lru");
        let reason = match candidates {
            [] => "no chase determines it".to_owned(),
            several => format!("the chases fit {}", several.join(", ")),
        };
        format!("replacement = \"{rule}\" # chosen: {reason}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_machine::{Machine, machine};
    use broadleaf_probe::{Modelled, analyse};

    fn analysis(name: &str, size: PageSize) -> Analysis {
        let machine = machine(name).expect("a machine");
        let modelled = Modelled::of_machine(&machine, size);
        analyse(&mut modelled.expect("pages"), &mut || ())
    }

    fn spans() -> Vec<ProbedSpan> {
        let span = |mib, page_size: &str, dependent_cycles| ProbedSpan {
            mib,
            page_size: page_size.to_owned(),
            dependent_cycles,
            independent_cycles: dependent_cycles / 10.0,
        };
        vec![
            span(16, "4k", 73.3),
            span(16, "2m", 50.0),
            span(64, "4k", 110.0),
        ]
    }

    fn described(base: &Analysis, huge: Option<&Analysis>, breaks_huge: bool) -> MachineText {
        let file = describe(&Described {
            fingerprint: "a \"processor\"",
            base,
            huge,
            breaks_huge,
            walks: [Some((36.6, 0.9)), None],
            loads: &spans(),
            open: &["L2 4k replacement: the first level hides it".to_owned()],
        });
        file.expect("a file")
    }

    #[test]
    fn the_file_is_a_machine_with_the_measured_structures() {
        let (base, huge) = (
            analysis("skylake", PageSize::SIZE_4K),
            analysis("skylake", PageSize::SIZE_2M),
        );
        let file = described(&base, Some(&huge), false);
        let read = Machine::from_toml(&file.text).expect(&file.text);
        assert_eq!(read.source, "broadleaf probe on a 'processor'");
        let of = |name: &str| machine(name).expect("a machine").design;
        for size in [PageSize::SIZE_4K, PageSize::SIZE_2M] {
            for level in [1, 2] {
                let (skylake, found) = (of("skylake"), read.design.clone());
                let (_, wanted) = skylake.holding(level, size).expect("a structure");
                let (_, found) = found.holding(level, size).expect("a structure");
                assert_eq!(found.index(size), wanted.index(size), "{}", file.text);
                let shape = |of: &broadleaf_tlb::Structure| (of.entries, of.ways);
                assert_eq!(shape(found), shape(wanted), "{}", file.text);
            }
        }
        assert_eq!(read.costs.of(PageSize::SIZE_4K), Some(37));
        assert_eq!(read.costs.of(PageSize::SIZE_2M), Some(21));
        assert!(file.chosen.contains(&"walk-cycles 2m".to_owned()));
        let loads = read.loads.of(PageSize::SIZE_4K, 32 << 20).expect("loads");
        assert!(
            (loads.dependent - (73.3 + 110.0) / 2.0).abs() < 0.1,
            "{loads:?}"
        );
        let huge = read.loads.of(PageSize::SIZE_2M, 1 << 40).expect("loads");
        assert!((huge.independent - 5.0).abs() < 0.1, "{huge:?}");
        assert!(file.text.contains("# Not determined: L2 4k replacement"));
    }

    #[test]
    fn a_guest_with_fractured_huge_pages_holds_base_pages_alone() {
        let base = analysis("gracemont", PageSize::SIZE_4K);
        let file = described(&base, None, true);
        let read = Machine::from_toml(&file.text).expect(&file.text);
        assert_eq!(read.design.sizes(), [PageSize::SIZE_4K]);
        assert_eq!(read.page_sizes(), [PageSize::SIZE_4K, PageSize::SIZE_2M]);
        assert!(read.fractures(PageSize::SIZE_2M));
        assert!(
            read.explanation
                .contains("enters this TLB as pages of 4 KiB")
        );
        // The walk of a huge page still has a cost of its own.
        assert_eq!(read.costs.of(PageSize::SIZE_2M), Some(21));
    }

    #[test]
    fn open_values_are_chosen_and_named() {
        let mut base = analysis("golden-cove", PageSize::SIZE_4K);
        if let Some(second) = &mut base.second {
            second.ways = Finding::open("noise");
            second.entries = Finding::open("noise");
        }
        let file = described(&base, None, false);
        let read = Machine::from_toml(&file.text).expect(&file.text);
        let (_, second) = read.design.holding(2, PageSize::SIZE_4K).expect("a level");
        assert_eq!(second.entries, 2048);
        assert!(file.chosen.contains(&"L2 4k structure".to_owned()));
        let entries = |capacity| Shape::chosen(capacity, PageSize::SIZE_4K).entries;
        assert_eq!(
            [3400, 4096, 4341, 7000].map(entries),
            [4096, 4096, 4096, 8192]
        );
        assert!(file.chosen.contains(&"L1 2m structure".to_owned()));
        base.first.entries = Finding::open("noise");
        let nothing = describe(&Described {
            fingerprint: "p",
            base: &base,
            huge: None,
            breaks_huge: false,
            walks: [None, None],
            loads: &[],
            open: &[],
        });
        assert_eq!(nothing, None);
    }
}
