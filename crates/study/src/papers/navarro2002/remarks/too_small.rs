//! A program too small to fill a large superpage.

use super::{AT, replay};
use crate::failure::Failure;
use crate::papers::generated::{Saying, begin, end, map, sweep, touch};
use crate::papers::navarro2002::setting::{BASE, MACHINE, MIB, plenty};
use crate::papers::navarro2002::{percent, times};
use crate::papers::replay::took;
use crate::papers::{PaperSetting, Scale, Table};
use broadleaf_trace::synth::SplitMix64;

/// An arena of 4 MB, partly used, in random order.
fn arena(scale: Scale) -> Saying {
    const USED: u64 = 11 * MIB / 4;
    let visits = match scale {
        Scale::Tiny => 50_000,
        Scale::Quick => 300_000,
        Scale::Full => 3_000_000,
    };
    let mut random = SplitMix64::new(4);
    let visited = (0..visits).map(move |_: u64| touch(AT + random.below(USED), 12, 0));
    Box::new(
        begin(1, "arena")
            .chain([map(AT, 4 * MIB)])
            .chain(sweep(AT, USED, 0, 512))
            .chain(visited)
            .chain([end()]),
    )
}

pub(super) fn table(setting: &PaperSetting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let full = setting.policy("navarro", &["sizes=4m"]);
    let half = setting.policy("navarro", &["sizes=4m", "part=50"]);
    let all = setting.policy("navarro", &[]);
    let outcome = replay(
        setting,
        "arena",
        MACHINE,
        &[BASE, &full, &half, &all],
        plenty(),
        move || arena(scale),
    )?;
    let mut table = Table::new(
        "Programs too small to fill a superpage: an arena of 4 MB of which 2.75 are used",
        "Pages of 4 MiB alone are made when full, or when half of one is in memory, as the slides \
         suggest; or all sizes are made as they fill.",
        &[
            "superpages",
            "misses spared",
            "speedup (est.)",
            "resident pages",
        ],
    );
    let base = took(&outcome.results[0], setting);
    let mut spared = Vec::new();
    let mut resident = Vec::new();
    for (name, result) in ["none", "4m", "4m, when half full", "all sizes"]
        .iter()
        .zip(&outcome.results)
    {
        let run = took(result, setting);
        let pages = (result.memory.as_ref()).map_or(0, |memory| memory.at_peak.resident_pages);
        spared.push(run.spares_of(base));
        resident.push(pages);
        table.row([
            (*name).to_owned(),
            percent(run.spares_of(base)),
            times(run.speedup_over(base)),
            pages.to_string(),
        ]);
    }
    table
        .direction(
            spared[1] < 10.0 && spared[3] > 50.0,
            "some programs are too small to fill a large superpage: it spares less than 10 percent \
             of the misses, all sizes more than 50",
        )
        .words(
            "too small",
            format!(
                "4m spares {}, all sizes {}",
                percent(spared[1]),
                percent(spared[3])
            ),
        );
    table
        .direction(
            spared[2] > 50.0 && resident[2] > resident[1],
            "the system could promote what is not full: that spares more than 50 percent, and \
             takes more memory",
        )
        .words(
            "could be allowed",
            format!(
                "spares {} for {} more pages",
                percent(spared[2]),
                resident[2].saturating_sub(resident[1])
            ),
        );
    Ok(table)
}
