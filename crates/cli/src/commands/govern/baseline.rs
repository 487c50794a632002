//! `run --baseline N`: with the policy and without, in turns.

use std::num::NonZero;

use crate::args::Run;
use crate::failure::Failure;

pub(super) fn run(_options: &Run, _rounds: NonZero<u32>) -> Result<(), Failure> {
    Err(Failure::wrong("--baseline is not there yet"))
}
