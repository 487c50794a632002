//! The gain of chosen superpages by allocation site.
//!
//! A superpage's figures are divided among the sites of its memory, by their bytes in it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use broadleaf_metrics::{AdvisedFrame, AdvisedSite};
use broadleaf_model::{Choice, ChosenPiece};

use broadleaf_trace::SiteFrame;

use super::location::{named_frame, own_frame};
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
        let pieces = choice.pieces.get(range.pieces.clone()).unwrap_or_default();
        let alone: u64 = pieces.iter().map(|piece| piece.walk_cycles_spared).sum();
        // Two superpages may save the same walk, so a range saves less than its pieces alone.
        let together = range.walk_cycles_spared as f64 / alone.max(1) as f64;
        for piece in pieces {
            divide(piece, together, owners, &mut gains);
        }
    }
    let sites = gains
        .iter()
        .filter_map(|(at, gain)| Some(advised(owners.sites.get(*at)?, gain)));
    let mut sites: Vec<AdvisedSite> = sites.collect();
    // The sort is stable, so ties keep the order in which the sites appeared.
    sites.sort_by_key(|site| Reverse(site.cycles_gained));
    sites
}

/// Divides the figures of a superpage among its owners. `together` is the share of its saved walks
/// that no other superpage of the range saves.
fn divide(
    piece: &ChosenPiece,
    together: f64,
    owners: &SiteOwners,
    gains: &mut BTreeMap<usize, SiteGain>,
) {
    let end = piece.address.saturating_add(piece.size.bytes());
    let shares = owners.of_range(piece.space, piece.address, end);
    let all: u64 = shares.values().sum();
    for (site, bytes) in shares {
        let share = bytes as f64 / all as f64;
        let gain = gains.entry(site).or_default();
        gain.superpage_bytes += piece.size.bytes() as f64 * share;
        let walk_cycles = piece.walk_cycles_spared as f64 * together;
        gain.walks += piece.walks_spared as f64 * together * share;
        gain.walk_cycles += walk_cycles * share;
        gain.gained += (walk_cycles - piece.price as f64) * share;
    }
}

fn advised(owner: &OwnerSite, gain: &SiteGain) -> AdvisedSite {
    let site = &owner.site;
    let at = named_frame(&site.frames);
    let named = at.map_or_else(SiteFrame::default, |at| site.frames[at].clone());
    let outer = site
        .frames
        .get(at.map_or(0, |at| at + 1)..)
        .unwrap_or_default();
    let frame = |frame: &SiteFrame| AdvisedFrame {
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
    };
    let frames = site.frames.iter().map(frame);
    AdvisedSite {
        allocator: site.allocator.clone(),
        function: named.function,
        file: named.file,
        line: named.line,
        called_from: own_frame(outer).map(|at| frame(&outer[at])),
        frames: frames.collect(),
        allocations: owner.allocations,
        allocated_bytes: owner.bytes,
        superpage_bytes: gain.superpage_bytes.round() as u64,
        walks_spared: gain.walks.round() as u64,
        walk_cycles_spared: gain.walk_cycles.round() as u64,
        cycles_gained: gain.gained.round() as i64,
    }
}
