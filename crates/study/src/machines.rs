//! Machines by name or file, and notes on machines in a comparison.

use std::path::PathBuf;

use broadleaf_accel::covers_all;
use broadleaf_machine::{Machine, is_grid, machine_names, machines_of_grid, tlb_plan};
use broadleaf_metrics::{CellResult, TlbResult};
use broadleaf_policy::Policy;
use broadleaf_report::BASELINE;
use broadleaf_tlb::ReferenceKind;
use broadleaf_units::PageSize;

use crate::failure::Failure;
use crate::native::{NATIVE, native};
use crate::{in_file, names};

/// Returns the machines of these names, files, patterns and grids. One text may hold several names,
/// separated by commas, or one grid. `native` means the machines that fit this computer.
///
/// # Errors
/// Those of [`machine`] and [`native`], and [`Failure::Wrong`] if two files describe machines of
/// one name, a pattern fits no machine, or a grid is wrong.
pub fn machines(names: &[String]) -> Result<Vec<Machine>, Failure> {
    let mut machines: Vec<(&str, Machine)> = Vec::new();
    for names in names {
        if is_grid(names) {
            let grid = machines_of_grid(names).map_err(Failure::wrong)?;
            machines.extend(grid.into_iter().map(|machine| (names.as_str(), machine)));
        } else {
            for name in names::apart(names).into_iter().map(str::trim) {
                add(name, &mut machines)?;
            }
        }
    }
    Ok(machines.into_iter().map(|(_, machine)| machine).collect())
}

/// Adds the machine of a name, or those of a pattern or of this computer, where they are not yet.
fn add<'n>(name: &'n str, machines: &mut Vec<(&'n str, Machine)>) -> Result<(), Failure> {
    let fitting: Vec<&str> = match name {
        NATIVE => native()?,
        pattern if pattern.contains('*') => machine_names()
            .filter(|known| fits(pattern, known))
            .collect(),
        name => vec![name],
    };
    if fitting.is_empty() {
        return Err(Failure::Wrong(format!(
            "no machine fits {name:?}: see `broadleaf list machines`"
        )));
    }
    for fitting in fitting {
        if machines.iter().any(|(other, _)| *other == fitting) {
            continue;
        }
        let machine = machine(fitting)?;
        if let Some((other, _)) = machines
            .iter()
            .find(|(_, known)| known.name == machine.name)
        {
            // A pattern and this computer name machines that another word names too.
            if name.contains('*') || [name, *other].contains(&NATIVE) {
                continue;
            }
            return Err(Failure::Wrong(format!(
                "{other} and {name} both describe a machine called {}: give one of them another \
                 name",
                machine.name
            )));
        }
        machines.push((name, machine));
    }
    Ok(())
}

/// Returns true if a pattern with `*` for any letters fits a name.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            let mut rests = starts.map(|at| &rest[at..]);
            rests.any(|rest| fits(after, rest))
        }),
    }
}

/// Returns the machine with this name or from this file. `native` means the machine that fits the
/// first core of this computer that has one.
///
/// # Errors
/// Those of [`native`], and [`Failure::Wrong`] if the name is unknown, or if the file cannot be
/// read or describes no machine.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    if name == NATIVE {
        let fitting = native()?;
        let first = fitting.first().copied().unwrap_or(NATIVE);
        return names::machine(first);
    }
    let path = PathBuf::from(name);
    if path.extension().is_none_or(|ending| ending != "toml") {
        return names::machine(name);
    }
    let text = in_file::read(&path)?;
    Machine::from_toml(&text).map_err(|error| Failure::Wrong(format!("{name}: {error}")))
}

/// Returns the machines on which these policies do not need the frame-level model.
pub(crate) fn without_frames(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Vec<String> {
    let alone = |machine: &&Machine| covers_all(policies, std::slice::from_ref(*machine));
    let names = machines.iter().filter(|machine| alone(machine).is_ok());
    names.map(|machine| machine.name.clone()).collect()
}

/// Returns true if machines come from a grid: they are compared by their areas, over one memory.
pub fn is_design_space(machines: &[Machine]) -> bool {
    machines.iter().any(|machine| is_grid(&machine.name))
}

/// The policies that a design space is compared under if the user names none: base pages, and
/// Talluri's system with and without superpages of the largest size.
pub fn design_space_policies(machines: &[Machine]) -> Vec<String> {
    let sizes = machines.iter().flat_map(|machine| machine.design.sizes());
    let largest = sizes.max().filter(|size| **size > PageSize::SIZE_4K);
    let mut policies = vec![BASELINE.to_owned()];
    if let Some(size) = largest.map(|size| size.short_name()) {
        policies.push(format!("reserve-{size}"));
        policies.push(format!("foxtrot(size={size})"));
    }
    policies
}

/// Adds the chip areas of the machines of a comparison, if a grid is among them.
pub(crate) fn add_areas(results: &mut [CellResult], machines: &[Machine]) {
    if !is_design_space(machines) {
        return;
    }
    for result in results {
        let machine = machines
            .iter()
            .find(|machine| machine.name == result.machine);
        let structures = machine.map_or(&[][..], |machine| machine.design.structures());
        let areas = structures.iter().map(|of| Some(tlb_plan(of)?.area()));
        let walks = result.walks.total();
        let levels = |size| machine.map_or(0, |machine| machine.walk_levels(size));
        let reads = result
            .walks
            .iter()
            .map(|(size, walks)| walks * levels(size));
        let walk_reads = reads.sum();
        let tlb = result.tlb.get_or_insert(TlbResult {
            l3_misses: walks,
            block_misses: walks,
            walk_reads,
            ..TlbResult::default()
        });
        tlb.area_rbe = areas.sum();
    }
}

/// The names of the machines that translate instruction fetches.
pub(crate) fn with_instruction_tlbs(machines: &[Machine]) -> Vec<&str> {
    let fetches = |machine: &&Machine| machine.design.serves(ReferenceKind::Fetch);
    let machines = machines.iter().filter(fetches);
    machines.map(|machine| machine.name.as_str()).collect()
}

/// A note on the instruction TLBs of machines, if there are any.
pub(crate) fn instruction_note(machines: &[Machine], has_fetches: bool) -> Option<String> {
    let names = with_instruction_tlbs(machines);
    let list = names.join(", ");
    (!names.is_empty()).then(|| match has_fetches {
        true => format!("{list}: memory holds the program's code, and fetches are translated"),
        false => format!(
            "{list}: the trace has no instruction fetches, so the instruction TLBs are not used; \
             record with --instructions"
        ),
    })
}

/// Notes for machines on which the base pages of the policy `4k` are larger.
pub(crate) fn base_page_notes(results: &[CellResult]) -> Vec<String> {
    let of_4k = results.iter().filter(|result| result.policy == BASELINE);
    let larger = of_4k.filter_map(|result| {
        let bytes = result.memory.as_ref()?.base_page_bytes;
        (bytes > PageSize::SIZE_4K.bytes()).then(|| {
            format!(
                "on {}, {BASELINE} means base pages of {} KiB",
                result.machine,
                bytes >> 10
            )
        })
    });
    larger.collect()
}
