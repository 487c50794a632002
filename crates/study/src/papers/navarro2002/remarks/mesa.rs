//! Frames zeroed ahead of time: mesa.

use super::{AT, OTHER, replay};
use crate::failure::Failure;
use crate::papers::generated::{Saying, begin, end, map, sweep, unmap};
use crate::papers::navarro2002::setting::{IN_ORDER, MACHINE, MIB, NO_SLOWDOWN, ONE_BYTE, memory};
use crate::papers::navarro2002::{none, percent};
use crate::papers::replay::{Took, took};
use crate::papers::{PaperSetting, Scale, Table};

/// Draws pictures with textures that stay mapped. Each picture has its own buffer, which is mapped
/// before it and unmapped after it.
fn draws(scale: Scale) -> Saying {
    const BUFFER: u64 = 128 << 10;
    const TEXTURES: u64 = 512 << 10;
    let pictures = match scale {
        Scale::Tiny => 20,
        Scale::Quick => 100,
        Scale::Full => 1000,
    };
    let one = |_| {
        let drawn = sweep(AT, BUFFER, 3000, 512);
        let read = sweep(OTHER, TEXTURES, 30_000, 0);
        [map(AT, BUFFER)]
            .into_iter()
            .chain(drawn)
            .chain(read)
            .chain([unmap(AT, BUFFER)])
    };
    Box::new(
        begin(1, "mesa")
            .chain([map(OTHER, TEXTURES)])
            .chain(sweep(OTHER, TEXTURES, 30_000, 512))
            .chain((0..pictures).flat_map(one))
            .chain([end()]),
    )
}

pub(super) fn table(setting: &PaperSetting) -> Result<Table, Failure> {
    let scale = setting.scale;
    let base = setting.policy("navarro", &["sizes=none", "zeroed=40"]);
    let all = setting.policy("navarro", &["zeroed=40"]);
    let outcome = replay(
        setting,
        "mesa",
        MACHINE,
        &[&base, &all],
        memory(8 * MIB, IN_ORDER),
        move || draws(scale),
    )?;
    let mut table = Table::new(
        "Zeroed frames: mesa",
        "Pictures are drawn in buffers that are mapped for each. Two frames are zeroed ahead of \
         time in 50,000 accesses, which is more than the buffers take. Base pages come from those \
         first; reservations take \
         extents as they lie.",
        &[
            "pages",
            "zeroed in faults",
            "zeroed ahead",
            "slides",
            "slowdown",
        ],
    );
    let mut zeroed = [0; 2];
    let takes: Vec<Took> = outcome
        .results
        .iter()
        .map(|result| took(result, setting))
        .collect();
    let slowdown = 100.0 * (takes[1].cycles / takes[0].cycles - 1.0);
    for (number, result) in outcome.results.iter().enumerate() {
        let Some(memory) = &result.memory else {
            continue;
        };
        zeroed[number] = memory.zeroed_pages;
        table.row([
            ["base pages", "superpages"][number].to_owned(),
            memory.zeroed_pages.to_string(),
            memory.zeroed_ahead_pages.to_string(),
            ["-", "slows down"][number].to_owned(),
            [none(), percent(slowdown)][number].clone(),
        ]);
    }
    claim(&mut table, zeroed, slowdown);
    Ok(table)
}

/// Adds the claim. `zeroed` is the number of pages zeroed in faults, with base pages and with
/// superpages.
fn claim(table: &mut Table, zeroed: [u64; 2], slowdown: f64) {
    table
        .direction(
            zeroed[1] > zeroed[0] && slowdown > NO_SLOWDOWN && slowdown < ONE_BYTE,
            format!(
                "mesa slows down by more than {NO_SLOWDOWN} percent, and less than the {ONE_BYTE} \
                 of the adversary, as reservations do not favour zeroed frames"
            ),
        )
        .words("slows down", percent(slowdown))
        .because(format!(
            "faults zero {} pages, and {} without superpages",
            zeroed[1], zeroed[0]
        ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_may_be_too_small_too_large_or_of_another_cause() {
        let agrees = |zeroed, slowdown| {
            let mut table = Table::default();
            claim(&mut table, zeroed, slowdown);
            table.claims[0].agrees
        };
        assert!(agrees([100, 200], 1.5));
        assert!(!agrees([100, 200], 0.9) && !agrees([100, 200], 8.9));
        assert!(!agrees([200, 200], 1.5));
    }
}
