//! Very large superpages, where they cannot help.

use super::{AT, replay};
use crate::failure::Failure;
use crate::papers::generated::{Saying, begin, map, touch};
use crate::papers::navarro2002::setting::{BASE, IN_ORDER, MACHINE, MIB, memory};
use crate::papers::navarro2002::{none, percent};
use crate::papers::replay::took;
use crate::papers::{PaperSetting, Scale, Table};
use broadleaf_model::MemoryLimits;

/// A byte in each page of 4 KiB.
fn one_byte(bytes: u64) -> Saying {
    let pages = (0..bytes >> 12).map(|page| touch(AT + (page << 12), 0, 1));
    Box::new(begin(1, "one byte").chain([map(AT, bytes)]).chain(pages))
}

pub(super) fn table(setting: &PaperSetting) -> Result<Table, Failure> {
    let (machine, small, bytes) = match setting.scale {
        Scale::Tiny => (MACHINE, "sizes=64k", 16 * MIB),
        Scale::Quick | Scale::Full => ("skylake-1g", "sizes=2m", 1 << 30),
    };
    let policies = [
        setting.policy("navarro", &[small]),
        setting.policy("navarro", &[]),
    ];
    let limits = MemoryLimits {
        costs: broadleaf_model::Costs::default(),
        ..memory(2 * bytes, IN_ORDER)
    };
    let names = [BASE, &policies[0], &policies[1]];
    let outcome = replay(setting, "very large", machine, &names, limits, move || {
        one_byte(bytes)
    })?;
    let mut table = Table::new(
        "Very large superpages: what they cost where they cannot help",
        format!(
            "{} MB of which one byte of each page of 4 KiB is used once, on {machine}, at what \
             things cost there: base pages, one size of superpages, and all up to the largest.",
            bytes >> 20
        ),
        &["superpages", "largest", "promotions", "slowdown"],
    );
    let base = took(&outcome.results[0], setting);
    let mut slowdowns = Vec::new();
    for (name, result) in ["none", small, "all"].iter().zip(&outcome.results) {
        let slowdown = 100.0 * (took(result, setting).cycles / base.cycles - 1.0);
        let sizes = result.memory.iter().flat_map(|memory| &memory.page_sizes);
        let largest = sizes
            .filter(|(_, count)| **count > 0)
            .map(|(bytes, _)| bytes)
            .max();
        slowdowns.push(slowdown);
        table.row([
            (*name).to_owned(),
            largest.map_or_else(none, |bytes| format!("{} KiB", bytes >> 10)),
            result.promotions.to_string(),
            percent(slowdown),
        ]);
    }
    let (one, all) = (slowdowns[1], slowdowns[2]);
    table
        .direction(
            outcome.results[2].promotions > outcome.results[1].promotions && all < one + 2.0,
            "the system scales to very large superpages: all sizes cost less than 2 percent more \
             than one",
        )
        .words(
            "scales",
            format!("{} with all sizes, {} with one", percent(all), percent(one)),
        );
    Ok(table)
}
