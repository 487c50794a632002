//! Advice by range as lines of C.

use super::{NOTHING_PAYS, plain, process_of, size_in_full};
use crate::number::grouped;
use broadleaf_metrics::{AdvisedMapping, AdvisedRange, BackingName, RangeAdvice};

/// The size of superpages that `madvise` asks for on x86-64.
const MADVISED: u64 = 2 << 20;

/// A call of `madvise(2)` for each range, in order, behind a comment that says what to do with them.
pub fn madvise(advice: &RangeAdvice) -> String {
    let mut out = head(advice);
    if advice.ranges.is_empty() {
        out.push_str(&format!("/* {NOTHING_PAYS} */\n"));
    }
    let names_process = advice.spaces > 1;
    for range in &advice.ranges {
        out.push_str(&format!(
            "madvise((void *){:#x}, {}, MADV_HUGEPAGE); /* {} */\n",
            range.start,
            range.bytes(),
            commented(&about(range, names_process))
        ));
    }
    out
}

fn head(advice: &RangeAdvice) -> String {
    let made = format!(
        "Where superpages pay in {}: {} on {}, by broadleaf {}.",
        plain(&advice.trace.path),
        advice.policy,
        advice.machine,
        advice.provenance.version
    );
    format!(
        "/* {}\n   \
            The best come first. Addresses are those of the recording, and with address randomisation others in each run:\n   \
            take the start of the mapping at run time and add what stands behind it in the comment. Call these where the\n   \
            mapping is there and not yet used. They need <sys/mman.h>, and always or madvise in\n   \
            /sys/kernel/mm/transparent_hugepage/enabled. */\n",
        commented(&made)
    )
}

/// What a reader of the line wants to know of the range.
fn about(range: &AdvisedRange, names_process: bool) -> String {
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
    if range.superpage_bytes != MADVISED {
        facts.push(format!(
            "madvise cannot name a size: pages of {} are asked for with madvise in /sys/kernel/mm/transparent_hugepage/hugepages-{}kB/enabled",
            size_in_full(range.superpage_bytes),
            range.superpage_bytes >> 10
        ));
    }
    facts.join(", ")
}

/// Where the range stands in its mapping.
fn place(range: &AdvisedRange) -> String {
    let Some(mapping) = &range.mapping else {
        return "mapping not recorded".to_owned();
    };
    let AdvisedMapping { start, end, .. } = mapping;
    let inside = range.start.saturating_sub(*start);
    match (mapping.backing, &mapping.path) {
        // Its start moves as it grows.
        (BackingName::Stack, _) => {
            format!(
                "stack, {:#x} below its end",
                end.saturating_sub(range.start)
            )
        }
        (BackingName::Heap, _) => format!("heap + {inside:#x}"),
        (BackingName::File, Some(path)) => {
            format!("file {} + {:#x}", plain(path), mapping.offset.unwrap_or(0))
        }
        (backing, _) => format!("{} {start:#x}-{end:#x} + {inside:#x}", backing.words()),
    }
}

/// `text` with nothing in it that would end a comment or begin one.
fn commented(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{advice, heap, lying_in};
    use super::*;

    /// The calls and what is said of them, without the head.
    fn lines(advice: RangeAdvice) -> Vec<String> {
        let text = madvise(&advice);
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
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); /* heap + 0x200000, 2 x 2 MiB, spares 1,234 walks */",
                "madvise((void *)0x7ff00000000, 2097152, MADV_HUGEPAGE); /* stack, 0x203000 below its end, 1 x 2 MiB, spares 10 walks */",
                "madvise((void *)0x10000000000, 2097152, MADV_HUGEPAGE); /* anonymous 0xfffffff000-0x10000203000 + 0x1000, 1 x 2 MiB, spares 10 walks */",
                "madvise((void *)0x20000000000, 2097152, MADV_HUGEPAGE); /* file /data/x* /y + 0x201000, 1 x 2 MiB, spares 10 walks, needs CONFIG_READ_ONLY_THP_FOR_FS and a file system that takes part */",
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); /* mapping not recorded, 2 x 2 MiB, spares 1,234 walks */",
                "madvise((void *)0x400000, 4194304, MADV_HUGEPAGE); /* heap + 0x200000, 64 x 64 KiB, spares 1,234 walks, madvise cannot name a size: pages of 64 KiB are asked for with madvise in /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled */",
            ]
        );
    }

    #[test]
    fn where_there_are_several_processes_each_line_names_its_own() {
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
    fn nothing_is_said_to_be_nothing() {
        assert_eq!(lines(advice(vec![])), [format!("/* {NOTHING_PAYS} */")]);
    }
}
