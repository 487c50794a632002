//! The figures of the paper: its mixes, the averages of its schemes, and each program's need.

use crate::failure::Failure;

/// Table II: the mixes, with misses for each thousand instructions.
const TABLE_2: &str = include_str!("table2.csv");

/// A mix of the paper.
#[derive(Clone, Debug)]
pub(super) struct PublishedMix {
    pub(super) name: &'static str,
    /// The paper's programs, by core.
    pub(super) programs: [&'static str; 4],
    /// Misses of the last level for each thousand instructions.
    pub(super) llc_mpki: f64,
    /// Misses of the data TLB for each thousand instructions.
    pub(super) tlb_mpki: f64,
}

/// The sixteen mixes.
pub(super) fn mixes() -> Result<Vec<PublishedMix>, Failure> {
    let wrong = |line: &str| Failure::failed(format!("table II of the paper: no mix in {line:?}"));
    let lines = TABLE_2.lines().skip(1);
    lines
        .map(|line| {
            let cells: Vec<&'static str> = line.split(',').collect();
            let [name, first, second, third, fourth, llc, tlb] = cells[..] else {
                return Err(wrong(line));
            };
            let number = |cell: &str| cell.parse().map_err(|_| wrong(line));
            Ok(PublishedMix {
                name,
                programs: [first, second, third, fourth],
                llc_mpki: number(llc)?,
                tlb_mpki: number(tlb)?,
            })
        })
        .collect()
}

/// The average gains of a scheme over the original system, in percent (section V).
pub(super) struct PublishedGains {
    pub(super) throughput: f64,
    pub(super) unfairness: f64,
    pub(super) llc_misses: f64,
    pub(super) tlb_misses: f64,
}

pub(super) const COLORING: PublishedGains = PublishedGains {
    throughput: 6.50,
    unfairness: 12.43,
    llc_misses: 25.75,
    tlb_misses: 11.76,
};

pub(super) const SUPERPAGE: PublishedGains = PublishedGains {
    throughput: 15.04,
    unfairness: 15.64,
    llc_misses: 1.74,
    tlb_misses: 91.06,
};

pub(super) const SCATTERED: PublishedGains = PublishedGains {
    throughput: 20.51,
    unfairness: 27.77,
    llc_misses: 17.05,
    tlb_misses: 86.02,
};

/// The average gain of 2 MiB pages on a real machine, and that of mcf, in percent (figure 2).
pub(super) const REAL_GAIN: [f64; 2] = [10.45, 36.23];

/// The colours that a program needs, in eighths of the last level (figure 3).
pub(super) fn need(program: &str) -> u32 {
    match program {
        "hmmer" | "astar" => 2,
        "gcc" | "soplex" | "omnetpp" => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::chen2014::programs::program_for;

    #[test]
    fn sixteen_mixes_of_programs_that_are_represented() {
        let mixes = mixes().unwrap();
        assert_eq!(mixes.len(), 16);
        for mix in mixes {
            for program in mix.programs {
                assert!(program_for(program).is_some(), "{program}");
            }
        }
    }
}
