//! The curves of a world: TLBs of every geometry see each access to data.
//!
//! An access after a change of the page's size is a lookup of another TLB. So a curve sees each
//! access at its time, and the daemons that fall due between two accesses of one visit run between
//! them. No other count depends on that: an entry of the page translates it at either size.

use super::World;
use crate::curve::{CurveLevel, WorldCurves};
use crate::mmu::Mmu;
use broadleaf_memory::AddressSpaces;
use broadleaf_memory::system::Place;
use broadleaf_metrics::CurvePoint;

/// The curves of a world, if they are asked for.
pub(super) type CurvesOfWorld = Option<Box<WorldCurves>>;

impl World<'_> {
    /// Counts the misses of TLBs of every geometry for the machine of that number. No lookup was
    /// made so far.
    pub(crate) fn add_curve(&mut self, machine: usize) {
        let levels = self.levels_of(self.mmu(machine));
        let curves = self.curves.get_or_insert_default();
        curves.add(levels);
    }

    /// The curve of a machine that observes the world. `None` if none was asked for.
    pub(crate) fn curve_of(&self, mmu: &Mmu<'_>) -> Option<Vec<CurvePoint>> {
        self.curves.as_ref()?.points(&self.levels_of(mmu))
    }

    /// Takes the curves away, for a pass whose counts are not shown.
    pub(crate) fn without_curves(mut self) -> Self {
        self.curves = None;
        self
    }

    /// The entries of a machine's TLBs for the pages of each level.
    fn levels_of(&self, mmu: &Mmu<'_>) -> Vec<CurveLevel> {
        let levels = mmu.translated.iter().enumerate().map(|(level, entry)| {
            let size = self.system.size(level);
            CurveLevel {
                size,
                entry: *entry,
                is_fractured: mmu.machine.fractures(size),
            }
        });
        levels.collect()
    }

    /// Runs the daemons that fall due before the access at `time`, and looks up the page of the
    /// last access after each: the accesses from then on were to this page. `moment` is the number
    /// of the reference that follows.
    pub(super) fn catch_up_curves(&mut self, time: u64, moment: u64, spaces: &AddressSpaces) {
        if self.curves.is_none() || self.system.next_time() >= time {
            return;
        }
        self.translate_before_changes(spaces);
        self.system.set_moment(moment);
        while self.system.next_time() < time {
            self.system.pass(spaces, self.system.next_time());
            self.shoot_down(spaces);
            let last = self.curves.as_ref().and_then(|curves| curves.last());
            let Some(last) = last else {
                continue;
            };
            let level = self.system.level_at(Place {
                space: last.space,
                page: self.system.base_page(last.page),
            });
            if let Some(curves) = &mut self.curves {
                curves.look_up_again(last, level);
            }
        }
    }
}
