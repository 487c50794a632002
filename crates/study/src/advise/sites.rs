//! The gain of chosen superpages by allocation site.
//!
//! A superpage's figures are divided among the sites of its memory, by their bytes in it.

use std::collections::BTreeMap;

use broadleaf_metrics::{AdvisedFrame, AdvisedSite};
use broadleaf_model::{Choice, ChosenPiece};

use super::location::named_frame;
use super::owners::{OwnerSite, SiteOwners};

/// The share of one site in all chosen superpages.
#[derive(Clone, Copy, Debug, Default)]
struct SiteGain {
    superpage_bytes: f64,
    walks: f64,
    walk_cycles: f64,
    gained: f64,
}

/// Returns the sites that have memory in the chosen superpages, those that gain most first. Sites
/// that name the same line are different if their call stacks differ.
pub(super) fn by_site(choice: &Choice, owners: &SiteOwners) -> Vec<AdvisedSite> {
    let mut gains: BTreeMap<usize, SiteGain> = BTreeMap::new();
    for range in &choice.ranges {
        for piece in choice.pieces.get(range.pieces.clone()).unwrap_or_default() {
            divide(piece, owners, &mut gains);
        }
    }
    let sites = gains
        .iter()
        .filter_map(|(at, gain)| Some(advised(owners.sites.get(*at)?, gain)));
    let mut sites: Vec<AdvisedSite> = sites.collect();
    // The sort is stable, so ties keep the order in which the sites appeared.
    sites.sort_by(|one, other| other.cycles_gained.cmp(&one.cycles_gained));
    sites
}

/// Divides the figures of a superpage among its owners.
fn divide(piece: &ChosenPiece, owners: &SiteOwners, gains: &mut BTreeMap<usize, SiteGain>) {
    let end = piece.address.saturating_add(piece.size.bytes());
    let shares = owners.of_range(piece.space, piece.address, end);
    let all: u64 = shares.values().sum();
    for (site, bytes) in shares {
        let share = bytes as f64 / all as f64;
        let gain = gains.entry(site).or_default();
        gain.superpage_bytes += piece.size.bytes() as f64 * share;
        gain.walks += piece.walks_spared as f64 * share;
        gain.walk_cycles += piece.walk_cycles_spared as f64 * share;
        gain.gained += (i128::from(piece.walk_cycles_spared) - piece.price) as f64 * share;
    }
}

fn advised(owner: &OwnerSite, gain: &SiteGain) -> AdvisedSite {
    let site = &owner.site;
    let named = named_frame(&site.frames).cloned().unwrap_or_default();
    let frames = site.frames.iter().map(|frame| AdvisedFrame {
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
    });
    AdvisedSite {
        allocator: site.allocator.clone(),
        function: named.function,
        file: named.file,
        line: named.line,
        frames: frames.collect(),
        allocations: owner.allocations,
        allocated_bytes: owner.bytes,
        superpage_bytes: gain.superpage_bytes.round() as u64,
        walks_spared: gain.walks.round() as u64,
        walk_cycles_spared: gain.walk_cycles.round() as u64,
        cycles_gained: gain.gained.round() as i64,
    }
}
