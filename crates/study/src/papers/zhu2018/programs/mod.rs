//! The seventeen recorded programs, each for one of the thesis's.

mod kernels;
mod packaged;

use crate::papers::programs::{RecordedProgram, WorkByScale};

/// The programs, in the order of table 3.2. The quick scale has 30 to 1,500 million references of
/// each. Tests use programs that need a compiler alone.
pub(super) const PROGRAMS: [RecordedProgram; 17] = [
    kernels::NETWORK,
    packaged::GCC,
    kernels::SIMPLEX,
    kernels::LBM,
    kernels::PACKETS,
    kernels::CLIMATE,
    packaged::CHESS,
    kernels::WAVES,
    packaged::XZ,
    kernels::ANNEAL,
    packaged::DERBY,
    kernels::PAGERANK,
    kernels::UPDATES,
    packaged::POSTGRESQL,
    packaged::REDIS,
    packaged::SVM,
    packaged::TRADES,
];

/// The programs that also run in a guest, with their work at each scale. A guest has less memory
/// than the updates of the full scale need.
pub(super) static IN_GUEST: [(RecordedProgram, WorkByScale); 3] = [
    (packaged::GCC, packaged::GCC.work),
    (kernels::UPDATES, [1, 4, 4]),
    (packaged::REDIS, packaged::REDIS.work),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::Scale;

    #[test]
    fn names_and_programs_of_the_thesis_come_once() {
        for (number, program) in PROGRAMS.iter().enumerate() {
            let before = &PROGRAMS[..number];
            assert!(before.iter().all(|other| other.name != program.name));
            assert!(
                before
                    .iter()
                    .all(|other| other.represents != program.represents)
            );
            assert!(program.is_in(Scale::Quick) && program.is_in(Scale::Full));
            if program.is_in(Scale::Tiny) {
                assert_eq!(program.packages, "gcc libc6-dev", "{}", program.name);
            }
        }
    }
}
