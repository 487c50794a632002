//! Advice by range as a profile for CBMM, the kernel of Mansi, Tabatabai and Swift (2022), which
//! weighs each superpage's benefit against its cost.

use super::{of_one_process, process_of};
use broadleaf_metrics::{AdvisedRange, BackingName, RangeAdvice};

/// The size of superpages in CBMM's profiles, in bytes.
const SUPERPAGE: u64 = 2 << 20;

/// Returns the profile: a line for each range of one process, at most `most` lines. The second
/// value has notes on ranges that CBMM cannot express, up to the last line.
///
/// The benefit is that of one superpage of the range. The kernel compares it with the cost of a
/// promotion, which it counts itself. The bounds are the range's first byte and the byte after its
/// last. The profiles of the CBMM artifact have the same bounds: neighbours share a bound, and the
/// kernel cuts mappings there.
pub fn cbmm(advice: &RangeAdvice, most: usize) -> (String, Vec<String>) {
    let (ranges, others) = of_one_process(advice);
    let mut notes: Vec<String> = others.into_iter().collect();
    let mut out = String::new();
    let mut lines = 0;
    for range in ranges {
        if lines == most {
            break;
        }
        match section(range) {
            Ok(section) => {
                lines += 1;
                out.push_str(&format!(
                    "huge,{section},{},addr,>,{:#x},addr,<,{:#x}\n",
                    range.walk_cycles_spared / range.superpages.max(1),
                    range.start,
                    range.end
                ));
            }
            Err(why) => notes.push(format!(
                "{:#x}-{:#x} of process {} is left out: {why}",
                range.start,
                range.end,
                process_of(range)
            )),
        }
    }
    (out, notes)
}

/// Returns the profile's name for the part of the address space that contains a range.
fn section(range: &AdvisedRange) -> Result<&'static str, String> {
    if range.superpage_bytes != SUPERPAGE {
        let size = super::size_in_full(range.superpage_bytes);
        return Err(format!(
            "its superpages have {size}, and a profile is about 2 MiB"
        ));
    }
    match range.mapping.as_ref().map(|mapping| mapping.backing) {
        Some(BackingName::Heap) => Ok("heap"),
        Some(
            BackingName::Anonymous
            | BackingName::SharedMemory
            | BackingName::StaticData
            | BackingName::File,
        ) => Ok("mmap"),
        Some(BackingName::Stack | BackingName::Kernel) => {
            Err("a profile knows the heap and what mmap made, and it is neither".to_owned())
        }
        None => Err("the trace does not contain its mapping".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{advice, heap, lying_in};
    use super::*;

    #[test]
    fn a_line_has_the_benefit_of_one_superpage_and_the_bounds_of_all() {
        let anonymous = lying_in(BackingName::Anonymous, 0x7ffe_1cc0_0000, 3);
        let (text, notes) = cbmm(&advice(vec![heap(), anonymous]), usize::MAX);
        assert_eq!(
            text,
            "huge,heap,18510,addr,>,0x400000,addr,<,0x800000\n\
             huge,mmap,100,addr,>,0x7ffe1cc00000,addr,<,0x7ffe1d200000\n"
        );
        assert_eq!(notes, [""; 0]);
    }

    #[test]
    fn ranges_that_it_cannot_express_are_noted() {
        let stack = lying_in(BackingName::Stack, 0x7ff_0000_0000, 1);
        let unknown = AdvisedRange {
            mapping: None,
            ..heap()
        };
        let large = AdvisedRange {
            superpage_bytes: 1 << 30,
            ..heap()
        };
        let (text, notes) = cbmm(&advice(vec![stack, unknown, large]), usize::MAX);
        assert_eq!(text, "");
        assert_eq!(
            notes,
            [
                "0x7ff00000000-0x7ff00200000 of process 41 sort is left out: \
                a profile knows the heap and what mmap made, and it is neither",
                "0x400000-0x800000 of process 41 sort is left out: \
                the trace does not contain its mapping",
                "0x400000-0x800000 of process 41 sort is left out: \
                its superpages have 1 GiB, and a profile is about 2 MiB",
            ]
        );
    }

    #[test]
    fn the_best_are_counted_among_the_expressible_ranges() {
        let stack = |start| lying_in(BackingName::Stack, start, 1);
        let anonymous = lying_in(BackingName::Anonymous, 0x7ffe_1cc0_0000, 3);
        let ranges = vec![
            stack(0x7ff_0000_0000),
            heap(),
            anonymous,
            stack(0x8ff_0000_0000),
        ];
        let lines = |most| {
            let (text, notes) = cbmm(&advice(ranges.clone()), most);
            (text.lines().count(), notes.len())
        };
        assert_eq!(lines(1), (1, 1));
        assert_eq!(lines(2), (2, 1));
        assert_eq!(lines(3), (2, 2));
    }
}
