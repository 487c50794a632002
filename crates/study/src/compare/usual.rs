//! The policies of a comparison that the user did not choose, and the requests that no format of a
//! result can answer.

use std::ffi::OsStr;
use std::path::PathBuf;

use broadleaf_machine::Machine;
use broadleaf_report::{BASELINE, REFERENCE};

use super::{AskedPolicies, ComparisonFormat, policies};
use crate::failure::Failure;
use crate::machines::{design_space_policies, is_design_space};
use crate::policies_file::Named;
use crate::shortage::refuse_lacking;

/// Returns the names of the policies to compare on these machines if the user chose none. An empty
/// list means the default policies of [`policies`].
pub fn usual_policies(machines: &[Machine]) -> Vec<String> {
    match is_design_space(machines) {
        true => design_space_policies(machines),
        false => Vec::new(),
    }
}

/// Returns the names of the policies that a comparison on these machines needs as references. Every
/// policy is compared with the first one. A table for people has a column of the second one, if
/// all machines have superpages. If `with_second` is set, the second one is returned too. Equal
/// policies give tables, CSV, Parquet and pictures equal keys in the cache.
pub fn reference_policies(machines: &[Machine], with_second: bool) -> &'static [&'static str] {
    let has_superpages = |machine: &Machine| machine.page_sizes().len() > 1;
    match with_second && machines.iter().all(has_superpages) {
        _ if is_design_space(machines) => &[],
        true => &[BASELINE, REFERENCE],
        false => &[BASELINE],
    }
}

/// Returns the policies for each of `traces` traces. `names` are those that the user chose, and
/// `named` the expressions of the user's file. Each trace has policies of its own.
///
/// # Errors
/// Those of [`policies`], and those of [`refuse_lacking`] if the user chose policies by name.
pub fn policies_of_each(
    traces: usize,
    names: &[String],
    named: &[Named],
    machines: &[Machine],
) -> Result<Vec<AskedPolicies>, Failure> {
    let usual = match names.is_empty() && named.is_empty() {
        true => usual_policies(machines),
        false => names.to_vec(),
    };
    // Only the first trace warns of repeated names.
    let each = (0..traces).map(|trace| policies(&usual, named, trace == 0));
    let each: Vec<AskedPolicies> = each.collect::<Result<_, _>>()?;
    if let Some(first) = each.first().filter(|_| !names.is_empty()) {
        refuse_lacking(&first.policies, machines)?;
    }
    Ok(each)
}

/// Refuses options that a format has no room for.
///
/// # Errors
/// [`Failure::Wrong`] if one row has to hold samples over time, a picture has to show several
/// traces, or standard input is to be read twice.
pub fn refuse_formats(
    format: ComparisonFormat,
    over_time: bool,
    traces: &[PathBuf],
) -> Result<(), Failure> {
    let one_row = [ComparisonFormat::Csv, ComparisonFormat::Parquet].contains(&format);
    if over_time && one_row {
        return Err(Failure::wrong(
            "CSV and Parquet have one row for each result and no room for samples over time: \
            --format json has it",
        ));
    }
    if format == ComparisonFormat::Svg && traces.len() > 1 {
        return Err(Failure::wrong(
            "SVG shows one trace: give one trace at a time",
        ));
    }
    let pipes = traces
        .iter()
        .filter(|trace| trace.as_os_str() == OsStr::new("-"));
    if pipes.count() > 1 {
        return Err(Failure::wrong(
            "standard input holds one trace: write - once",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::machines;

    fn found(name: &str) -> Vec<Machine> {
        machines(&[name.to_owned()]).expect("machines")
    }

    #[test]
    fn a_grid_has_policies_of_its_own_and_no_references() {
        let grid = found("superpage:entries=32,sizes=4k+64k");
        let usual = usual_policies(&grid);
        assert_eq!(usual, ["4k", "reserve-64k", "foxtrot(size=64k)"]);
        assert!(reference_policies(&grid, true).is_empty());
        let each = policies_of_each(2, &[], &[], &grid).expect("policies");
        assert_eq!(each.len(), 2);
        for asked in each {
            assert_eq!(asked.names(), usual);
        }
    }

    #[test]
    fn a_table_has_a_second_reference_if_all_machines_have_superpages() {
        let skylake = found("skylake");
        assert!(usual_policies(&skylake).is_empty());
        assert_eq!(reference_policies(&skylake, true), [BASELINE, REFERENCE]);
        assert_eq!(reference_policies(&skylake, false), [BASELINE]);
        let mut small = skylake.clone();
        small.extend(found("superpage:entries=32,sizes=4k"));
        small.retain(|machine| machine.page_sizes().len() == 1);
        small
            .iter_mut()
            .for_each(|one| one.name = "small".to_owned());
        assert_eq!(reference_policies(&small, true), [BASELINE]);
    }

    #[test]
    fn sizes_that_no_machine_has_are_refused_only_if_they_were_chosen() {
        let skylake = found("skylake");
        let lacking = ["reserve-64k".to_owned()];
        let refused = policies_of_each(1, &lacking, &[], &skylake);
        assert!(matches!(refused, Err(Failure::Wrong(_))));
        assert!(policies_of_each(1, &[], &[], &skylake).is_ok());
    }

    #[test]
    fn formats_without_room_are_refused() {
        let traces = ["a.bl", "b.bl"].map(PathBuf::from);
        let pipes = ["-", "-"].map(PathBuf::from);
        assert!(refuse_formats(ComparisonFormat::Csv, true, &traces).is_err());
        assert!(refuse_formats(ComparisonFormat::Csv, false, &traces).is_ok());
        assert!(refuse_formats(ComparisonFormat::Svg, false, &traces).is_err());
        assert!(refuse_formats(ComparisonFormat::Svg, false, &traces[..1]).is_ok());
        assert!(refuse_formats(ComparisonFormat::Table, true, &pipes).is_err());
    }
}
