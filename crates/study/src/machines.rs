//! Machines by name or file, and notes on machines in a comparison.

use std::ffi::OsStr;
use std::path::Path;

use broadleaf_accel::covers_all;
use broadleaf_machine::{Machine, is_grid, machine_names, machines_of_grid, tlb_plan};
use broadleaf_metrics::{CellResult, TlbResult};
use broadleaf_policy::Policy;
use broadleaf_report::BASELINE;
use broadleaf_tlb::ReferenceKind;
use broadleaf_trace::Header;
use broadleaf_units::PageSize;

use crate::failure::Failure;
use crate::native::{NATIVE, native, own_machine};
use crate::{in_file, names};

/// Returns the machines of these names, files, patterns and grids. One text may hold several names,
/// separated by commas, or one grid. `native` means the machine that `broadleaf probe` measured
/// on this computer, or those that fit it.
///
/// # Errors
/// Those of [`machine`] and [`native`]. [`Failure::Wrong`] if two files describe machines of one
/// name, a pattern fits no machine, or a grid is wrong or beside a name.
pub fn machines(names: &[String]) -> Result<Vec<Machine>, Failure> {
    let mut machines: Vec<(&str, Machine)> = Vec::new();
    for names in names {
        if is_grid(names) {
            for machine in machines_of_grid(names).map_err(Failure::wrong)? {
                // Grids overlap.
                if machines.iter().all(|(_, known)| known.name != machine.name) {
                    machines.push((names, machine));
                }
            }
        } else {
            for name in names::apart(names).into_iter().map(str::trim) {
                if is_grid(name) {
                    return Err(Failure::Wrong(format!(
                        "{names:?}: {name:?} begins a grid, and a grid has commas of its own: give \
                         the grid a --machine of its own"
                    )));
                }
                add(name, &mut machines)?;
            }
        }
    }
    Ok(machines.into_iter().map(|(_, machine)| machine).collect())
}

/// Adds the machine of a name, or those of a pattern or of this computer, where they are not yet.
fn add<'n>(name: &'n str, machines: &mut Vec<(&'n str, Machine)>) -> Result<(), Failure> {
    if name == NATIVE
        && let Some(own) = own_machine()?
    {
        if machines.iter().all(|(_, known)| known.name != own.name) {
            machines.push((name, own));
        }
        return Ok(());
    }
    let fitting: Vec<&str> = match name {
        NATIVE => native()?,
        pattern if is_pattern(pattern) => machine_names()
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
            if is_pattern(name) || [name, *other].contains(&NATIVE) {
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

/// Returns true if a text names a file of a machine.
pub(crate) fn is_file(name: &str) -> bool {
    Path::new(name).extension() == Some(OsStr::new("toml"))
}

/// Returns true if a text is a pattern of names. The name of a file may have a `*`.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains('*') && !is_file(name)
}

/// Returns true if a pattern with `*` for any letters fits a name. A star first fits no letter. If
/// the letters after the star differ, the star takes one letter more. Only the last star is tried
/// again, so the work is at most the product of both lengths.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut read) = (0, 0);
    // The place after the last star, and the first letter of the name that the star lacks.
    let mut last_star = None;
    while read < name.len() {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            last_star = Some((at, read));
        } else if pattern.get(at) == Some(&name[read]) {
            (at, read) = (at + 1, read + 1);
        } else if let Some((after, lacking)) = last_star {
            last_star = Some((after, lacking + 1));
            (at, read) = (after, lacking + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

/// Returns the machine with this name or from this file. `native` means the machine that fits the
/// first core of this computer that has one.
///
/// # Errors
/// Those of [`native`]. [`Failure::Wrong`] if the name is unknown, or if the file cannot be read or
/// describes no machine.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    if name == NATIVE {
        if let Some(own) = own_machine()? {
            return Ok(own);
        }
        let fitting = native()?;
        let none =
            || Failure::wrong("no machine fits this computer: see `broadleaf list machines`");
        return names::machine(fitting.first().ok_or_else(none)?);
    }
    if is_file(name) {
        let text = in_file::read(Path::new(name))?;
        let machine = Machine::from_toml(&text);
        let machine = machine.map_err(|error| Failure::Wrong(format!("{name}: {error}")))?;
        if let Some(note) = machine.unused_costs() {
            log::warn!("{name}: {note}");
        }
        return Ok(machine);
    }
    names::machine(name)
}

/// Returns the machines on which these policies do not need the frame-level model.
pub(crate) fn without_frames(policies: &[Box<dyn Policy>], machines: &[Machine]) -> Vec<String> {
    let alone = |machine: &&Machine| covers_all(policies, std::slice::from_ref(*machine));
    let names = machines.iter().filter(|machine| alone(machine).is_ok());
    names.map(|machine| machine.name.clone()).collect()
}

/// Returns true if machines come from a grid: they are compared by their areas, over one memory.
pub(crate) fn is_design_space(machines: &[Machine]) -> bool {
    machines.iter().any(|machine| is_grid(&machine.name))
}

/// The policies that a design space is compared under if the user names none: base pages, and
/// Talluri's system with and without superpages of the largest size.
pub(crate) fn design_space_policies(machines: &[Machine]) -> Vec<String> {
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

/// A note on the areas of a design space with a machine of several structures.
pub(crate) fn area_note(machines: &[Machine]) -> Option<String> {
    let has_several = |machine: &Machine| machine.design.structures().len() > 1;
    let is_needed = is_design_space(machines) && machines.iter().any(has_several);
    is_needed.then(|| {
        "the area of a machine is that of all its TLB structures, whether or not the trace uses \
         them"
            .to_owned()
    })
}

/// A note on the machines of a design space that have no chip area.
pub(crate) fn unpriced_note(machines: &[Machine]) -> Option<String> {
    let is_unpriced = |machine: &&Machine| {
        let mut structures = machine.design.structures().iter();
        structures.any(|structure| tlb_plan(structure).is_none())
    };
    let names = machines.iter().filter(is_unpriced);
    let names: Vec<&str> = names.map(|machine| machine.name.as_str()).collect();
    let is_needed = is_design_space(machines) && !names.is_empty();
    is_needed.then(|| {
        format!(
            "no area, because no priced kind of entry describes theirs: {}",
            names.join("; ")
        )
    })
}

/// The names of the machines that translate instruction fetches.
pub(crate) fn with_instruction_tlbs(machines: &[Machine]) -> Vec<&str> {
    let fetches = |machine: &&Machine| machine.design.serves(ReferenceKind::Fetch);
    let machines = machines.iter().filter(fetches);
    machines.map(|machine| machine.name.as_str()).collect()
}

/// A note on the instruction TLBs of machines, if there are any. `header` is that of a recording.
/// A text has none, and its reader leaves instruction fetches out.
pub(crate) fn instruction_note(machines: &[Machine], header: Option<&Header>) -> Option<String> {
    let names = with_instruction_tlbs(machines);
    let list = names.join(", ");
    let note = match header.map(|header| header.options.instruction_pages) {
        Some(true) => "memory holds the program's code, and fetches are translated",
        Some(false) => {
            "the trace has no instruction fetches, so the instruction TLBs are not used; record \
             with --instructions"
        }
        None => {
            "the instruction fetches of a text are not read, so the instruction TLBs are not used; \
             make a recording with `broadleaf record --instructions`"
        }
    };
    (!names.is_empty()).then(|| format!("{list}: {note}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::Grain;

    #[test]
    fn patterns_fit_names() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "zen2"),
            ("**", "zen2"),
            ("zen*", "zen2"),
            ("*2", "zen2"),
            ("z*n*2", "zen2"),
            ("*aab", "aaaab"),
            ("a*b*b", "abab"),
            ("zen2", "zen2"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "zen2"),
            ("zen", "zen2"),
            ("zen2", "zen"),
            ("*3", "zen2"),
            ("z*x*2", "zen2"),
            ("a*b", "abc"),
            ("*ab*ab", "abb"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_end_soon() {
        let stars = "*".repeat(64);
        let name = "a".repeat(2000);
        assert!(!fits(&format!("{stars}x"), &name));
        assert!(!fits(&format!("{}x", "*a".repeat(64)), &name));
        assert!(fits(&stars, &name));
    }

    fn wrong(name: &str) -> String {
        match machines(&[name.to_owned()]) {
            Err(Failure::Wrong(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_that_ends_in_toml_is_a_file() {
        let text = wrong("no*such.toml");
        assert!(
            text.contains("no*such.toml") && !text.contains("fits"),
            "{text}"
        );
    }

    #[test]
    fn a_machine_of_several_grids_is_there_once() {
        let grids = ["single:entries=16|16", "single:entries=16..32"].map(str::to_owned);
        let machines = machines(&grids).expect("grids");
        let names: Vec<&str> = machines.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["single:entries=16", "single:entries=32"]);
    }

    #[test]
    fn a_grid_beside_a_name_is_refused() {
        let text = wrong("skylake, single:entries=16,ways=4");
        assert!(text.contains("a --machine of its own"), "{text}");
    }

    #[test]
    fn the_note_on_areas_needs_a_machine_of_several_structures() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            area_note(&machines(&names).expect("machines"))
        };
        assert_eq!(of(&["skylake"]), None);
        assert_eq!(of(&["single:entries=16"]), None);
        let note = of(&["single:entries=16", "skylake"]).expect("a note");
        assert!(
            note.contains("whether or not the trace uses them"),
            "{note}"
        );
    }

    #[test]
    fn machines_without_an_area_are_named() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            unpriced_note(&machines(&names).expect("machines"))
        };
        let single = "single:entries=16";
        let own_rights = "partial-subblock:entries=16,block=16k,rights=page";
        assert_eq!(of(&[single, "partial-subblock:entries=16,block=16k"]), None);
        let note = of(&[single, own_rights]).expect("a note");
        assert!(note.ends_with(&format!(": {own_rights}")), "{note}");
    }

    #[test]
    fn the_note_on_instruction_tlbs_depends_on_the_trace() {
        let machines = [names::machine("skylake-instructions").expect("a machine")];
        let mut header = Header::new(Grain::Page);
        let without = instruction_note(&machines, Some(&header)).expect("a note");
        assert!(without.contains("has no instruction fetches"), "{without}");
        header.options.instruction_pages = true;
        let with = instruction_note(&machines, Some(&header)).expect("a note");
        assert!(with.contains("fetches are translated"), "{with}");
        let text = instruction_note(&machines, None).expect("a note");
        assert!(!text.contains("are translated"), "{text}");
        assert!(text.contains("make a recording"), "{text}");
        let data = [names::machine("skylake").expect("a machine")];
        assert_eq!(instruction_note(&data, None), None);
    }
}
