//! The gain of chosen superpages by allocation site.
//!
//! A superpage's figures are divided among the sites of its memory: by the page walks of their base
//! pages, and by bytes within a base page. Without any walks, bytes alone decide.

use std::collections::BTreeMap;

use broadleaf_metrics::{AdvisedFrame, AdvisedSite};
use broadleaf_model::{Choice, ChosenPiece};

use broadleaf_trace::SiteFrame;

use super::location::{named_frame, own_frame};
use super::owners::{OwnerSite, SiteOwners};
use super::walks::PageWalks;
use broadleaf_units::PageSize;

/// The share of one site in all chosen superpages.
#[derive(Clone, Copy, Debug, Default)]
struct SiteGain {
    superpage_bytes: f64,
    walks: f64,
    walk_cycles: f64,
    gained: f64,
    base_walks: f64,
}

/// Returns the sites that have memory in the chosen superpages, those that gain most first. Sites
/// that name the same line are different if their call stacks differ.
pub(super) fn by_site(choice: &Choice, owners: &SiteOwners, walks: &PageWalks) -> Vec<AdvisedSite> {
    let mut gains: BTreeMap<usize, SiteGain> = BTreeMap::new();
    for range in &choice.ranges {
        let pieces = choice.pieces.get(range.pieces.clone()).unwrap_or_default();
        let alone: u64 = pieces.iter().map(|piece| piece.walk_cycles_spared).sum();
        // Two superpages may save the same walk, so a range saves less than its pieces alone.
        let together = range.walk_cycles_spared as f64 / alone.max(1) as f64;
        for piece in pieces {
            divide(piece, together, owners, walks, &mut gains);
        }
    }
    let sites = gains
        .iter()
        .filter_map(|(at, gain)| Some(advised(owners.sites.get(*at)?, gain)));
    let mut sites: Vec<AdvisedSite> = sites.collect();
    // The sort is stable, so ties keep the order in which the sites appeared.
    sites.sort_by_key(|site| std::cmp::Reverse(site.cycles_gained));
    sites
}

/// Returns a note if the program is a Python whose frames the recorder does not know: its sites
/// name functions of the interpreter.
pub(super) fn unnamed_python(owners: &SiteOwners) -> Option<String> {
    let frames = || owners.sites.iter().flat_map(|owner| &owner.site.frames);
    let has_interpreter = frames().any(|frame| frame.function.starts_with("_PyEval_"));
    let has_python = frames().any(|frame| frame.file.ends_with(".py") || frame.file == "<string>");
    (has_interpreter && !has_python).then(|| {
        "the sites name functions of the Python interpreter: functions and lines of Python are \
         known for CPython 3.11 alone"
            .to_owned()
    })
}

/// Divides the figures of a superpage among its owners. `together` is the share of its saved walks
/// that no other superpage of the range saves.
fn divide(
    piece: &ChosenPiece,
    together: f64,
    owners: &SiteOwners,
    walks: &PageWalks,
    gains: &mut BTreeMap<usize, SiteGain>,
) {
    let end = piece.address.saturating_add(piece.size.bytes());
    let bytes = owners.of_range(piece.space, piece.address, end);
    let all_bytes: u64 = bytes.values().sum();
    let walked = walked(piece, owners, walks);
    let all_walks: f64 = walked.values().sum();
    for (site, bytes) in bytes {
        let of_bytes = bytes as f64 / all_bytes as f64;
        let base_walks = walked.get(&site).copied().unwrap_or(0.0);
        let share = if all_walks > 0.0 {
            base_walks / all_walks
        } else {
            of_bytes
        };
        let gain = gains.entry(site).or_default();
        gain.base_walks += base_walks;
        gain.superpage_bytes += piece.size.bytes() as f64 * of_bytes;
        let walk_cycles = piece.walk_cycles_spared as f64 * together;
        gain.walks += piece.walks_spared as f64 * together * share;
        gain.walk_cycles += walk_cycles * share;
        gain.gained += (walk_cycles - piece.price as f64) * share;
    }
}

/// Returns the walks of a superpage's base pages by site. The walks of a page are divided among the
/// sites of its memory by their bytes in it.
fn walked(piece: &ChosenPiece, owners: &SiteOwners, walks: &PageWalks) -> BTreeMap<usize, f64> {
    let base = PageSize::SIZE_4K;
    let first = piece.address >> base.shift();
    let pages = first..first + piece.size.bytes() / base.bytes();
    let mut walked: BTreeMap<usize, f64> = BTreeMap::new();
    for page in pages {
        let Some(&of_page) = walks.get(&(piece.space, page)) else {
            continue;
        };
        let start = page << base.shift();
        let shares = owners.of_range(piece.space, start, start + base.bytes());
        let all: u64 = shares.values().sum();
        for (site, bytes) in shares {
            *walked.entry(site).or_default() += of_page as f64 * bytes as f64 / all as f64;
        }
    }
    walked
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
        base_walks: gain.base_walks.round() as u64,
        walks_spared: gain.walks.round() as u64,
        walk_cycles_spared: gain.walk_cycles.round() as u64,
        cycles_gained: gain.gained.round() as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_model::ChosenRange;
    use broadleaf_trace::{Allocation, Event, Site};
    use broadleaf_units::{SiteId, SpaceId, VirtAddr};

    const SPACE: SpaceId = SpaceId(0);
    const SUPERPAGE: u64 = 2 << 20;

    /// A large table and a small one in one superpage: the table's name, its first byte and length.
    fn owners() -> SiteOwners {
        let mut owners = SiteOwners::default();
        let small = SUPERPAGE / 8;
        let tables = [
            ("large", 0, SUPERPAGE - small),
            ("small", SUPERPAGE - small, small),
        ];
        for (number, (name, start, len)) in (0..).zip(tables) {
            let site = Site {
                allocator: name.to_owned(),
                frames: Vec::new(),
            };
            owners.add(SPACE, &Event::Site(SiteId(number), site));
            let made = Allocation {
                site: SiteId(number),
                start: VirtAddr(SUPERPAGE + start),
                len,
                count: 1,
                bytes: len,
            };
            owners.add(SPACE, &Event::Allocation(made));
        }
        owners
    }

    fn choice() -> Choice {
        Choice {
            left: Vec::new(),
            policy: String::new(),
            machine: String::new(),
            trials: 1,
            cycles_without: 0,
            cycles: 0,
            ranges: vec![ChosenRange {
                walks_spared: 100,
                walk_cycles_spared: 3000,
                price: 0,
                pieces: 0..1,
            }],
            pieces: vec![ChosenPiece {
                space: SPACE,
                address: SUPERPAGE,
                size: PageSize::SIZE_2M,
                used_bytes: SUPERPAGE,
                faults: 512,
                promotions: 1,
                walks_spared: 100,
                walk_cycles_spared: 3000,
                price: 0,
                region: None,
            }],
        }
    }

    #[test]
    fn an_unknown_python_is_noted() {
        let note = |frames: &[(&str, &str)]| {
            let frames = frames.iter().map(|(function, file)| SiteFrame {
                function: (*function).to_owned(),
                file: (*file).to_owned(),
                line: 0,
            });
            let site = Site {
                allocator: "Python arena".to_owned(),
                frames: frames.collect(),
            };
            let mut owners = SiteOwners::default();
            owners.add(SPACE, &Event::Site(SiteId(0), site));
            unnamed_python(&owners)
        };
        let interpreter = ("_PyEval_EvalFrameDefault", "/usr/bin/python3.13");
        let noted = note(&[interpreter]).expect("a note");
        assert!(noted.contains("CPython 3.11 alone"), "{noted}");
        assert_eq!(note(&[("fill", "a.py"), interpreter]), None);
        assert_eq!(note(&[("main", "a.c")]), None);
    }

    /// The gain follows the walks, although the table that is walked is the smaller one.
    #[test]
    fn a_small_hot_table_gains_more_than_a_large_cold_one() {
        let page = |number: u64| (SPACE, SUPERPAGE / 4096 + number);
        let walks = PageWalks::from([(page(3), 10), (page(460), 60), (page(500), 30)]);
        let sites = by_site(&choice(), &owners(), &walks);
        let gained: Vec<(&str, i64, u64)> = sites
            .iter()
            .map(|site| (&*site.allocator, site.cycles_gained, site.base_walks))
            .collect();
        assert_eq!(gained, [("small", 2700, 90), ("large", 300, 10)]);
        assert_eq!(sites[0].superpage_bytes, SUPERPAGE / 8);
        // Without walks, bytes decide.
        let sites = by_site(&choice(), &owners(), &PageWalks::new());
        let gained: Vec<(&str, i64)> = sites
            .iter()
            .map(|site| (&*site.allocator, site.cycles_gained))
            .collect();
        assert_eq!(gained, [("large", 2625), ("small", 375)]);
    }
}
