//! Tests of flows, branches and pipelines.

mod branches;
mod closed_forms;
mod decoding;
mod slow;
