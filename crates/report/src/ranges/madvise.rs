//! Advice by range as C code.

use super::sites::gaining_places;
use super::{NOTHING_PAYS, process_of, size_in_full};
use crate::number::grouped;
use crate::printable;
use broadleaf_metrics::{AdvisedMapping, AdvisedRange, BackingName, RangeAdvice};

/// Returns a call of `madvise(2)` for each range, at most `most` calls, after a comment with
/// instructions and one with the lines of the program's source that made the memory, if the trace
/// has them. Ranges of sizes without Linux superpages are comments.
pub fn madvise(advice: &RangeAdvice, most: usize) -> String {
    let mut out = head(advice);
    let places = gaining_places(&advice.sites);
    for (place, cycles) in places.iter().take(most) {
        let place = commented(place);
        out.push_str(&format!(
            "/* in the source: {place}, gains {cycles} cycles */\n"
        ));
    }
    if advice.ranges.is_empty() {
        out.push_str(&format!("/* {NOTHING_PAYS} */\n"));
    }
    let names_process = advice.spaces > 1;
    let sizes = LinuxSizes::of(advice);
    let mut calls = 0;
    for range in &advice.ranges {
        if calls == most {
            break;
        }
        let about = about(range, names_process, sizes);
        match sizes.lack(range.superpage_bytes) {
            Some(why) => {
                let (start, end) = (range.start, range.end);
                let about = commented(&format!("{start:#x}-{end:#x}, {about}, left out: {why}"));
                out.push_str(&format!("/* {about} */\n"));
            }
            None => {
                calls += 1;
                out.push_str(&format!(
                    "madvise((void *){:#x}, {}, MADV_HUGEPAGE); /* {} */\n",
                    range.start,
                    range.bytes(),
                    commented(&about)
                ));
            }
        }
    }
    out
}

/// The sizes of Linux's transparent superpages of anonymous memory, by the base page.
#[derive(Clone, Copy, Debug)]
struct LinuxSizes {
    base: u64,
    /// Four base pages: order 2 (`THP_ORDERS_ALL_ANON` of `include/linux/huge_mm.h`).
    least: u64,
    /// The memory that one page of the page table maps, with entries of 8 bytes. `madvise` asks for
    /// this size.
    most: u64,
}

impl LinuxSizes {
    /// Returns the sizes of the machine that the advice is for.
    fn of(advice: &RangeAdvice) -> Self {
        let memory = (advice.replayed()).and_then(|(without, _)| without.memory.as_ref());
        let base = memory.map_or(4096, |memory| memory.base_page_bytes);
        Self {
            base,
            least: 4 * base,
            most: base * (base / 8),
        }
    }

    /// Returns the reason for which `madvise` gets no superpages of that size on any Linux.
    fn lack(self, bytes: u64) -> Option<String> {
        if (self.least..=self.most).contains(&bytes) {
            return None;
        }
        let kernels = match self.base {
            4096 => "for x86-64".to_owned(),
            base => format!("with base pages of {}", size_in_full(base)),
        };
        let size = size_in_full(bytes);
        let lack = match bytes < self.least {
            true => format!("pages of {size} exist on no Linux {kernels}"),
            // `mmap` may be able to ask for such a size.
            false => format!("madvise makes no pages of {size} on Linux {kernels}"),
        };
        Some(format!(
            "{lack}, whose transparent superpages have {} to {}",
            size_in_full(self.least),
            size_in_full(self.most)
        ))
    }
}

fn head(advice: &RangeAdvice) -> String {
    let made = format!(
        "Where superpages pay in {}: {} on {}, by broadleaf {}.",
        printable(&advice.trace.path),
        advice.policy,
        advice.machine,
        advice.provenance.version
    );
    format!(
        "/* {}\n   \
            The best come first. Addresses are those of the recording. With address \
            randomisation, they differ in each run:\n   \
            take the start of the mapping at run time and add the offset in the comment. \
            Call these while the mapping\n   \
            exists and is not yet used. They need <sys/mman.h>, and always or madvise in\n   \
            /sys/kernel/mm/transparent_hugepage/enabled. */\n",
        commented(&made)
    )
}

/// Returns the facts about a range for the reader of its line.
fn about(range: &AdvisedRange, names_process: bool, sizes: LinuxSizes) -> String {
    let mut facts = Vec::new();
    if names_process {
        facts.push(format!("process {}", process_of(range)));
    }
    facts.push(place(range));
    facts.push(format!(
        "{} x {}",
        range.superpages,
        size_in_full(range.superpage_bytes)
    ));
    facts.push(format!("spares {} walks", grouped(range.walks_spared)));
    let backing = range.mapping.as_ref().map(|mapping| mapping.backing);
    if backing == Some(BackingName::File) {
        facts
            .push("needs CONFIG_READ_ONLY_THP_FOR_FS and a file system that takes part".to_owned());
    }
    if range.cycles_gained <= 0 {
        facts.push("gains nothing by itself, only beside others".to_owned());
    }
    let bytes = range.superpage_bytes;
    if bytes != sizes.most && sizes.lack(bytes).is_none() {
        facts.push(format!(
            "madvise cannot name a size: pages of {} are asked for with madvise in \
            /sys/kernel/mm/transparent_hugepage/hugepages-{}kB/enabled",
            size_in_full(bytes),
            bytes >> 10
        ));
    }
    facts.join(", ")
}

/// Returns the place of the range in its mapping.
fn place(range: &AdvisedRange) -> String {
    let Some(mapping) = &range.mapping else {
        return "mapping not recorded".to_owned();
    };
    let AdvisedMapping { start, end, .. } = mapping;
    let inside = range.start.saturating_sub(*start);
    match (mapping.backing, &mapping.path) {
        // The start of a stack moves as the stack grows.
        (BackingName::Stack, _) => {
            format!(
                "stack, {:#x} below its end",
                end.saturating_sub(range.start)
            )
        }
        (BackingName::Heap, _) => format!("heap + {inside:#x}"),
        (BackingName::File, Some(path)) => {
            format!(
                "file {} + {:#x}",
                printable(path),
                mapping.offset.unwrap_or(0)
            )
        }
        (BackingName::StaticData, Some(path)) => {
            format!("static data of {} + {inside:#x}", printable(path))
        }
        (backing, _) => format!("{} {start:#x}-{end:#x} + {inside:#x}", backing.words()),
    }
}

/// Returns `text` without the marks that end or begin a comment.
fn commented(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{advice, heap, lying_in};
    use super::*;
    use broadleaf_metrics::AdvisedSite;

    /// Returns the calls with their comments, without the head.
    fn lines(advice: RangeAdvice) -> Vec<String> {
        let text = madvise(&advice, usize::MAX);
        let (head, lines) = text.split_once("*/\n").expect("a head");
        assert!(head.contains("address randomisation"), "{head}");
        lines.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_backing_has_its_words() {
        let stack = lying_in(BackingName::Stack, 0x7ff_0000_0000, 1);
        let anonymous = lying_in(BackingName::Anonymous, 0x100_0000_0000, 1);
        let file = lying_in(BackingName::File, 0x200_0000_0000, 1);
        let unknown = AdvisedRange {
            mapping: None,
            ..heap()
        };
        let large = AdvisedRange {
            superpage_bytes: 65_536,
            superpages: 64,
            ..heap()
        };
        assert_eq!(
            lines(advice(vec![heap(), stack, anonymous, file, unknown, large])),
            [
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); \
                /* heap + 0x200000, 2 x 2 MiB, spares 1,234 walks */",
                "madvise((void *)0x7ff00000000, 2097152, MADV_HUGEPAGE); \
                /* stack, 0x203000 below its end, 1 x 2 MiB, spares 10 walks, \
                gains nothing by itself, only beside others */",
                "madvise((void *)0x10000000000, 2097152, MADV_HUGEPAGE); \
                /* anonymous 0xfffffff000-0x10000203000 + 0x1000, 1 x 2 MiB, spares 10 walks, \
                gains nothing by itself, only beside others */",
                "madvise((void *)0x20000000000, 2097152, MADV_HUGEPAGE); \
                /* file /data/x* /y + 0x201000, 1 x 2 MiB, spares 10 walks, \
                needs CONFIG_READ_ONLY_THP_FOR_FS and a file system that takes part, \
                gains nothing by itself, only beside others */",
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); \
                /* mapping not recorded, 2 x 2 MiB, spares 1,234 walks */",
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); \
                /* heap + 0x200000, 64 x 64 KiB, spares 1,234 walks, \
                madvise cannot name a size: pages of 64 KiB are asked for with madvise in \
                /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled */",
            ]
        );
    }

    #[test]
    fn a_size_that_linux_lacks_is_a_comment_and_counts_for_no_call() {
        let of = |superpage_bytes| AdvisedRange {
            superpage_bytes,
            ..heap()
        };
        let ranges = vec![of(8192), of(16_384), of(4 << 20), of(2 << 20), of(8192)];
        let text = madvise(&advice(ranges.clone()), 2);
        let lines: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.ends_with("*/"))
            .skip(1)
            .collect();
        assert_eq!(
            lines,
            [
                "/* 0x400000-0x800000, heap + 0x200000, 2 x 8 KiB, spares 1,234 walks, left out: \
                pages of 8 KiB exist on no Linux for x86-64, \
                whose transparent superpages have 16 KiB to 2 MiB */",
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); \
                /* heap + 0x200000, 2 x 16 KiB, spares 1,234 walks, \
                madvise cannot name a size: pages of 16 KiB are asked for with madvise in \
                /sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled */",
                "/* 0x400000-0x800000, heap + 0x200000, 2 x 4 MiB, spares 1,234 walks, left out: \
                madvise makes no pages of 4 MiB on Linux for x86-64, \
                whose transparent superpages have 16 KiB to 2 MiB */",
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); \
                /* heap + 0x200000, 2 x 2 MiB, spares 1,234 walks */",
            ]
        );
        // With base pages of 16 KiB, madvise asks for 32 MiB.
        let mut large = advice(vec![of(2 << 20), of(32 << 20), of(32_768)]);
        for result in &mut large.results {
            result.memory.as_mut().unwrap().base_page_bytes = 16_384;
        }
        let text = madvise(&large, usize::MAX);
        assert!(text.contains("hugepages-2048kB/enabled"), "{text}");
        assert!(!text.contains("hugepages-32768kB"), "{text}");
        assert!(
            text.contains(
                "pages of 32 KiB exist on no Linux with base pages of 16 KiB, \
                 whose transparent superpages have 64 KiB to 32 MiB"
            ),
            "{text}"
        );
    }

    #[test]
    fn with_several_processes_each_line_names_its_own() {
        let other = AdvisedRange {
            space: 1,
            pid: Some(42),
            command: vec!["a\n*/b".to_owned()],
            ..heap()
        };
        let lines = lines(RangeAdvice {
            spaces: 2,
            ..advice(vec![heap(), other])
        });
        assert!(lines[0].contains("/* process 41 sort, heap"), "{lines:?}");
        assert!(lines[1].contains("/* process 42 b, heap"), "{lines:?}");
    }

    #[test]
    fn lines_of_the_source_come_before_the_calls() {
        let site = |function: &str, cycles_gained| AdvisedSite {
            function: function.to_owned(),
            file: "/src/hot*/x.c".to_owned(),
            line: 12,
            allocator: "malloc".to_owned(),
            cycles_gained,
            ..AdvisedSite::default()
        };
        let mut advice = advice(vec![heap()]);
        advice.sites = vec![site("fill", 1500), site("read", 20_000), site("none", 0)];
        let lines = lines(advice);
        assert_eq!(
            lines[..2],
            [
                "/* in the source: read (/src/hot* /x.c:12), made by malloc, gains 20,000 cycles */",
                "/* in the source: fill (/src/hot* /x.c:12), made by malloc, gains 1,500 cycles */",
            ]
        );
        assert!(lines[2].starts_with("madvise("), "{lines:?}");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        assert_eq!(lines(advice(vec![])), [format!("/* {NOTHING_PAYS} */")]);
    }
}
