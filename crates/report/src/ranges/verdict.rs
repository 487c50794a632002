//! The recommendation in advice on ranges: its gain, its cost and its commands.

use broadleaf_metrics::{CellResult, RangeAdvice, Recommendation, SOME_GAIN};

use super::NOTHING_PAYS;
use super::columns::lies_in;
use super::sites::best_place;
use super::together::fault_cycles;
use crate::advice::added;
use crate::judging::Judging;
use crate::number::{counted, ratio, short};
use crate::run_time_sentence;

/// Returns the answer without its commands. The run time is that of the result with all ranges.
/// `measured` is the saved share of the processor time with all huge pages, as a range, if it was
/// measured: where it shows no gain, the ranges are hardly worth it.
pub fn verdict(advice: &RangeAdvice, measured: Option<[f64; 3]>) -> Recommendation {
    let answer = Recommendation {
        machine: advice.machine.clone(),
        policy: advice.policy.clone(),
        ..Recommendation::default()
    };
    let Some((without, with)) = advice.replayed().filter(|_| !advice.ranges.is_empty()) else {
        return Recommendation {
            sentence: NOTHING_PAYS.to_owned(),
            ..answer
        };
    };
    let has_gain = measured.is_none_or(|[least, middle, _]| least > 0.0 && middle >= SOME_GAIN);
    let gains = Judging::new(&[with], without, &|_| true).gains(with);
    let begin = match gains && has_gain {
        true => "Ask for huge pages",
        false => "Hardly worth it: ask for huge pages",
    };
    let these = CellResult {
        policy: "These huge pages".to_owned(),
        ..with.clone()
    };
    Recommendation {
        sentence: format!(
            "{begin} {}. Page walks then cost {}, and page faults {}, for {}.",
            place(advice),
            change(without.walk_cycles, with.walk_cycles),
            change(fault_cycles(without), fault_cycles(with)),
            added(with, without),
        ),
        run_time: run_time_sentence(&these, without, &advice.trace),
        ..answer
    }
}

/// Returns the place that gains most, and the number of the others: a line of the source if the
/// trace has allocation sites, or else a mapping.
fn place(advice: &RangeAdvice) -> String {
    let others = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(", and {}", counted(count, what)),
    };
    if let Some((place, more)) = best_place(&advice.sites) {
        return format!("for the memory of {place}{}", others(more, "other line"));
    }
    let best = advice.ranges.iter().max_by_key(|range| range.cycles_gained);
    let best = best.map(lies_in).unwrap_or_default();
    let best = best.replacen("anonymous ", "anonymous memory ", 1);
    let more = advice.ranges.len() as u64 + advice.ranges_left_out - 1;
    format!("in {best}{}", others(more, "other range"))
}

/// Returns a change of cycles in words.
fn change(before: u64, after: u64) -> String {
    format!(
        "{} cycles instead of {} ({})",
        short(after),
        short(before),
        ratio(after, before)
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{advice, heap, lying_in};
    use super::*;
    use broadleaf_metrics::{AdvisedSite, BackingName, RunTime, RunTimeBasis};

    #[test]
    fn the_answer_names_a_mapping_its_gain_and_its_cost() {
        let other = lying_in(BackingName::Anonymous, 0x200_0000_0000, 1);
        let answer = verdict(&advice(vec![other, heap()]), None);
        assert_eq!(
            answer.sentence,
            "Ask for huge pages in heap 0x200000-0x900000, and 1 other range. Page walks then cost \
             30.0k cycles instead of 60.0k (x0.50), and page faults 480k cycles instead of 2.00M \
             (x0.24), for 304 KiB (8.4%) more memory."
        );
        assert_eq!(answer.run_time, None);
        assert_eq!(verdict(&advice(vec![]), None).sentence, NOTHING_PAYS);
    }

    #[test]
    fn the_answer_names_a_line_of_the_source_if_there_is_one() {
        let mut advice = advice(vec![heap()]);
        advice.sites = vec![AdvisedSite {
            allocator: "malloc".to_owned(),
            function: "build".to_owned(),
            file: "/a/x.c".to_owned(),
            line: 7,
            cycles_gained: 5,
            ..AdvisedSite::default()
        }];
        let sentence = verdict(&advice, None).sentence;
        let begin = "Ask for huge pages for the memory of build (/a/x.c:7), made by malloc. Page";
        assert!(sentence.starts_with(begin), "{sentence}");
    }

    #[test]
    fn a_gain_that_hardly_matters_is_called_so() {
        let mut advice = advice(vec![heap()]);
        let of = |gain| Some(RunTime::of_gains([0.0, gain, gain], RunTimeBasis::Table));
        for (gain, is_hardly) in [(0.01, true), (0.2, false)] {
            advice.results[1].run_time = of(gain);
            let answer = verdict(&advice, None);
            let says_so = answer
                .sentence
                .starts_with("Hardly worth it: ask for huge pages in");
            assert_eq!(says_so, is_hardly, "{}", answer.sentence);
            let run_time = answer.run_time.expect("it is known");
            assert!(run_time.contains("These huge pages may"), "{run_time}");
        }
        // A measurement without a gain outweighs the walks.
        let says = |measured| verdict(&advice, measured).sentence;
        assert!(says(Some([0.02, 0.1, 0.2])).starts_with("Ask for huge pages"));
        for measured in [[-0.01, 0.1, 0.2], [0.001, 0.02, 0.03]] {
            let said = says(Some(measured));
            assert!(said.starts_with("Hardly worth it: "), "{said}");
        }
    }
}
