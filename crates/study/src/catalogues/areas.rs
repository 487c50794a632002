//! `list tlbs --area`: prices of TLBs.

use broadleaf_machine::{machine, machine_names, tlb_plan};
use broadleaf_price::{ENTRY_KINDS, EntryKind, EntryReach, TlbPlan, surrogate};
use broadleaf_report::{Align, Grid};
use broadleaf_tlb::Structure;
use serde_json::json;

use super::list::CatalogueEntries;
use crate::failure::Failure;

/// The shapes of the thesis for which kinds are listed: entries, and ways if there are sets.
const SHAPES: [(u32, Option<u32>); 2] = [(64, None), (256, Some(4))];

/// The base pages of a superpage or a block of each listed kind: 2, 4, 8 and 16.
const ORDERS: std::ops::RangeInclusive<u32> = 1..=4;

/// A TLB with a price.
struct PricedTlb {
    name: String,
    /// The pages of an entry, for people.
    pages: String,
    plan: TlbPlan,
    /// True for a kind of the thesis, to which the surrogate was fitted.
    is_of_the_thesis: bool,
}

impl PricedTlb {
    /// The single-page-size TLB of the same entries and ways.
    fn reference(&self) -> TlbPlan {
        TlbPlan {
            bits: EntryKind::single_page_size().talluri(EntryReach::PAGE),
            ..self.plan
        }
    }

    /// The access time relative to that of the reference.
    fn fitted_surrogate(&self) -> Option<f64> {
        let own = self.plan.fitted_surrogate()?;
        let ratio = own / self.reference().fitted_surrogate()?;
        self.is_of_the_thesis.then_some(ratio)
    }
}

/// The kinds of entries in the shapes of the thesis, then the TLBs of all machines.
///
/// # Errors
/// If a machine of the catalogue is wrong.
pub fn areas() -> Result<CatalogueEntries, Failure> {
    let mut grid = Grid::new()
        .column("TLB", Align::Left)
        .column("pages of an entry", Align::Left)
        .column("entries", Align::Right)
        .column("ways", Align::Right)
        .column("area (rbe)", Align::Right)
        .column("relative area", Align::Right)
        .column("access (0.8 um)", Align::Right)
        .column("relative access", Align::Right);
    let mut json = Vec::new();
    for tlb in kinds().into_iter().chain(of_machines()?) {
        let plan = tlb.plan;
        let relative = plan.area() / tlb.reference().area();
        let fitted = tlb.fitted_surrogate();
        grid.row([
            tlb.name.clone(),
            tlb.pages.clone(),
            plan.entries.to_string(),
            plan.ways.map_or("all".to_owned(), |ways| ways.to_string()),
            format!("{:.0}", plan.area()),
            format!("{relative:.2}"),
            format!("{:.2} ns", 1e9 * plan.access_time()),
            fitted.map_or_else(String::new, |ratio| {
                format!("{ratio:.2} {}", surrogate::LABEL)
            }),
        ]);
        json.push(
            json!({ "name": tlb.name, "pages": tlb.pages, "entries": plan.entries,
            "ways": plan.ways, "data_bits": plan.bits.data, "tag_bits": plan.bits.tag(),
            "area_rbe": plan.area(), "relative_area": relative,
            "access_seconds_by_delay_equations": plan.access_time(),
            "relative_access_by_fitted_surrogate": fitted }),
        );
    }
    Ok(CatalogueEntries { grid, json })
}

/// The areas of a kind in the shapes of the thesis, for `explain`.
pub(super) fn area_facts(kind: &EntryKind) -> Vec<(&'static str, String)> {
    let of_kind: Vec<PricedTlb> = kinds()
        .into_iter()
        .filter(|tlb| tlb.name == kind.described.name)
        .collect();
    let fact = |(entries, ways): (u32, Option<u32>)| {
        let of_shape = of_kind.iter().filter(|tlb| tlb.plan.ways == ways);
        let areas = of_shape.map(|tlb| {
            let relative = tlb.plan.area() / tlb.reference().area();
            format!("{}: {:.0} rbe ({relative:.2})", tlb.pages, tlb.plan.area())
        });
        let areas: Vec<String> = areas.collect();
        let shape = match ways {
            None => format!("{entries} entries, fully associative"),
            Some(ways) => format!("{entries} entries in {ways} ways"),
        };
        let areas = areas.join("; ");
        (
            "area",
            format!("{shape}, and relative to one page size: {areas}"),
        )
    };
    SHAPES.into_iter().map(fact).collect()
}

/// The areas and the access times of a machine's TLB structures, for `explain`. A structure whose
/// entries are of no priced kind has neither.
pub(super) fn prices_of_structures(structures: &[Structure]) -> Vec<(&'static str, String)> {
    let plans: Vec<(&str, TlbPlan)> = structures
        .iter()
        .filter_map(|structure| Some((structure.name.as_str(), tlb_plan(structure)?)))
        .collect();
    if plans.is_empty() {
        return Vec::new();
    }
    let listed = |figure: fn(&TlbPlan) -> String| {
        let each = plans.iter();
        let each = each.map(|(name, plan)| format!("{name} {}", figure(plan)));
        each.collect::<Vec<String>>().join(", ")
    };
    let areas = listed(|plan| format!("{:.0}", plan.area()));
    let times = listed(|plan| format!("{:.2} ns", 1e9 * plan.access_time()));
    vec![
        ("area", format!("{areas} register-bit equivalents")),
        (
            "access",
            format!("{times}, by equations for 0.8 micrometres"),
        ),
    ]
}

fn kinds() -> Vec<PricedTlb> {
    let mut tlbs = Vec::new();
    for (entries, ways) in SHAPES {
        for kind in ENTRY_KINDS {
            let is_single = **kind == *EntryKind::single_page_size();
            let is_superpage = **kind == *EntryKind::superpage();
            let orders = if is_single { 0..=0 } else { ORDERS };
            for order in orders {
                let pages = match (is_single, is_superpage) {
                    (true, _) => "4k".to_owned(),
                    (_, true) => format!("4k, {}k", 4 << order),
                    _ => format!("block of {}", 1 << order),
                };
                let sizes = if is_superpage { 2 } else { 1 };
                let bits = kind.talluri(EntryReach { order, sizes });
                tlbs.push(PricedTlb {
                    name: kind.described.name.to_owned(),
                    pages,
                    plan: TlbPlan {
                        entries,
                        ways,
                        bits,
                    },
                    is_of_the_thesis: true,
                });
            }
        }
    }
    tlbs
}

fn of_machines() -> Result<Vec<PricedTlb>, Failure> {
    let mut tlbs = Vec::new();
    for name in machine_names() {
        let machine = machine(name).map_err(Failure::failed)?;
        for structure in machine.design.structures() {
            let Some(plan) = tlb_plan(structure) else {
                continue;
            };
            let pages: Vec<String> = (structure.pages.iter())
                .map(|(size, _)| size.short_name().to_string())
                .collect();
            tlbs.push(PricedTlb {
                name: format!("{name} {}", structure.name),
                pages: pages.join(", "),
                plan,
                is_of_the_thesis: false,
            });
        }
    }
    Ok(tlbs)
}
