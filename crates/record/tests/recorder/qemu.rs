//! The recorder's tests with QEMU in place of Valgrind.

use std::path::Path;

use broadleaf_record::valgrind::Engine;
use broadleaf_trace::{Event, Visit};

use crate::support::{can_record, compiled, folder, has, merge, options, trace_with, with_qemu};
use crate::{counts, forks, grains, kernel, placement, processes, signals};

/// The bytes of the large array of `programs/kinds.c`.
const CELLS: u64 = 16 << 20;

/// Returns the visits to the large array, in order, with pages counted from its first.
fn visits_of_cells(program: &Path, engine: Engine) -> Vec<Visit> {
    let mut options = options(&[program, Path::new("plain")]);
    options.engine = engine;
    let recording = trace_with(&options).expect("the recording works");
    let events = recording.events(0);
    let start = events.iter().find_map(|event| match event {
        Event::Map(mapping) if mapping.range.len == CELLS => Some(mapping.range.start.0),
        _ => None,
    });
    let first = start.expect("the array's mapping") >> 12;
    let mut visits = Vec::new();
    for visit in recording.visits(0) {
        let unit = visit.unit.wrapping_sub(first);
        if unit < CELLS >> 12 && visit.accesses() > 0 {
            let instructions = 0;
            let visit = Visit {
                unit,
                instructions,
                ..visit
            };
            merge(&mut visits, visit);
        }
    }
    visits
}

/// Each update of the array is a load and a store, at a place that depends on the ones before.
#[test]
fn references_have_the_order_of_valgrinds() {
    let place = folder();
    if !can_record() || !has("qemu-x86_64") {
        return;
    }
    let Some(program) = compiled("kinds", &["-static"], place.path()) else {
        return;
    };
    let theirs = visits_of_cells(&program, Engine::Valgrind);
    let ours = visits_of_cells(&program, Engine::Qemu);
    assert!(theirs.len() > 600_000, "{}", theirs.len());
    assert!(
        ours == theirs,
        "{} visits, {} by Valgrind",
        ours.len(),
        theirs.len()
    );
}

#[test]
fn forks_a_fork_comes_before_its_child() {
    with_qemu(forks::a_fork_comes_before_its_child);
}

#[test]
fn forks_fifty_children_at_a_time_are_in_order() {
    with_qemu(forks::fifty_children_at_a_time_are_in_order);
}

#[test]
fn forks_a_fork_from_which_the_parent_never_returns_is_reported() {
    with_qemu(forks::a_fork_from_which_the_parent_never_returns_is_reported);
}

#[test]
fn forks_children_of_every_kind_are_in_order() {
    with_qemu(forks::children_of_every_kind_are_in_order);
}

#[test]
fn forks_a_fork_among_busy_threads_is_in_order() {
    with_qemu(forks::a_fork_among_busy_threads_is_in_order);
}

#[test]
fn forks_a_pipeline_is_in_order() {
    with_qemu(forks::a_pipeline_is_in_order);
}

#[test]
fn forks_a_program_comes_after_the_program_that_it_replaces() {
    with_qemu(forks::a_program_comes_after_the_program_that_it_replaces);
}

#[test]
fn grains_every_grain_counts_the_same() {
    with_qemu(grains::every_grain_counts_the_same);
}

#[test]
fn kernel_a_locked_instruction_is_one_load_and_one_store() {
    with_qemu(kernel::a_locked_instruction_is_one_load_and_one_store);
}

#[test]
fn kernel_an_instruction_that_modifies_memory_stores_first() {
    with_qemu(kernel::an_instruction_that_modifies_memory_stores_first);
}

#[test]
fn kernel_pages_move_and_leave_their_mapping() {
    with_qemu(kernel::pages_move_and_leave_their_mapping);
}

#[test]
fn kernel_processor_time_goes_on_and_begins_anew_in_a_child() {
    with_qemu(kernel::processor_time_goes_on_and_begins_anew_in_a_child);
}

#[test]
fn kernel_a_deadline_stays_the_programs_own() {
    with_qemu(kernel::a_deadline_stays_the_programs_own);
}

#[test]
fn placement_of_a_program_with_its_position_free() {
    with_qemu(placement::of_a_program_with_its_position_free);
}

#[test]
fn placement_of_a_program_with_a_fixed_position() {
    with_qemu(placement::of_a_program_with_a_fixed_position);
}

#[test]
fn placement_of_a_static_program() {
    with_qemu(placement::of_a_static_program);
}

#[test]
fn processes_a_visit_belongs_to_the_thread_that_runs() {
    with_qemu(processes::a_visit_belongs_to_the_thread_that_runs);
}

#[test]
fn processes_children_of_every_kind_are_followed_or_left_alone() {
    with_qemu(processes::children_of_every_kind_are_followed_or_left_alone);
}

#[test]
fn processes_a_program_that_is_killed_is_recorded_up_to_there() {
    with_qemu(processes::a_program_that_is_killed_is_recorded_up_to_there);
}

#[test]
fn processes_a_pause_finds_the_recording_safe() {
    with_qemu(processes::a_pause_finds_the_recording_safe);
}

#[test]
fn processes_a_pipeline_s_output_is_right_and_all_of_it_is_recorded() {
    with_qemu(processes::a_pipeline_s_output_is_right_and_all_of_it_is_recorded);
}

#[test]
fn signals_nothing_is_lost_or_done_twice() {
    with_qemu(signals::nothing_is_lost_or_done_twice);
}

#[test]
fn signals_a_fault_whose_address_is_not_asked_for_upsets_nothing() {
    with_qemu(signals::a_fault_whose_address_is_not_asked_for_upsets_nothing);
}

#[test]
fn counts_two_recordings_are_the_same() {
    with_qemu(counts::two_recordings_are_the_same);
}
