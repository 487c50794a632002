//! Stale translations, and the running address space.

use super::World;
use crate::charged::Charged;
use crate::filter::BatchPart;
use crate::mmu::Mmu;
use broadleaf_charges::Candidate;
use broadleaf_memory::system::Place;
use broadleaf_memory::{AddressSpaces, Shootdown};
use broadleaf_units::SpaceId;

impl World<'_> {
    /// Drops stale translations and updates the page tables, after a reference or a daemon may have
    /// changed memory. A filter first makes up for lookups that it left out.
    pub(super) fn take_up_changes(&mut self, part: &BatchPart<'_>, spaces: &AddressSpaces) {
        let is_stale = self.system.has_shootdowns();
        self.end_left_out(is_stale, part);
        if is_stale {
            self.shoot_down(spaces);
        } else {
            self.update_tables(spaces);
        }
    }

    /// Drops all stale translations.
    pub(super) fn shoot_down(&mut self, spaces: &AddressSpaces) {
        let mut charged = self.charged.take();
        self.carry_out(charged.as_deref_mut(), spaces);
        self.charged = charged;
    }

    /// Drops all stale translations, while the charges are taken out of the world.
    pub(super) fn shoot_down_charged(&mut self, charged: &mut Charged<'_>, spaces: &AddressSpaces) {
        if self.system.has_shootdowns() {
            self.carry_out(Some(charged), spaces);
        }
    }

    /// Drops stale translations from the TLBs of all machines that observe this memory.
    fn carry_out(&mut self, mut charged: Option<&mut Charged<'_>>, spaces: &AddressSpaces) {
        self.update_tables(spaces);
        self.translate_now(None);
        let shootdowns: Vec<Shootdown> = self.system.shootdowns().collect();
        if !shootdowns.is_empty() {
            self.end_classes();
        }
        for shootdown in shootdowns {
            if let Some(curves) = &mut self.curves {
                curves.forget(&shootdown);
            }
            for mmu in &mut self.observers {
                mmu.forget(&shootdown);
            }
            let tag = self.mmu.forget(&shootdown);
            self.parked_forget(&shootdown, tag);
            let Some(tag) = tag else {
                continue;
            };
            match shootdown {
                Shootdown::Nothing => {}
                Shootdown::Superpage { run, .. } => {
                    if let Some(charged) = &mut charged
                        && let Some(level) = self.system.level_of(run.size)
                    {
                        let first = self.system.base_page(run.first);
                        charged.demoted(Candidate { tag, first, level });
                    }
                }
                Shootdown::Range { space, pages } => {
                    let (page, pages) = self.system.base_pages(pages);
                    if let Some(recorder) = &mut self.recorder {
                        recorder.shot_down(Place { space, page }, pages);
                    }
                    if let Some(charged) = &mut charged {
                        charged.shot_down(tag, page, pages);
                    }
                }
                Shootdown::Space(space) => {
                    if let Some(recorder) = &mut self.recorder {
                        recorder.gone(Place { space, page: 0 }, u64::MAX);
                    }
                    if let Some(charged) = &mut charged {
                        charged.space_is_gone(tag);
                    }
                }
            }
        }
    }

    /// Sends walks through page tables: of all machines if `all` is true, and otherwise of the
    /// machines whose walks cost more than the page size says. A table that no result shows is not
    /// worth its time.
    pub(crate) fn walking_tables(mut self, all: bool) -> Self {
        let walks = |mmu: &&mut Mmu<'_>| all || !mmu.machine.has_fixed_walk_costs();
        let walking = self.mmus_mut().filter(walks);
        if walking.map(Mmu::walk_tables).count() > 0 {
            self.system.keep_notices();
        }
        self
    }

    /// Updates the page tables of all machines. References that wait are translated first.
    pub(super) fn update_tables(&mut self, spaces: &AddressSpaces) {
        if !self.system.has_notices() {
            return;
        }
        self.translate_now(None);
        for notice in self.system.notices(spaces) {
            self.mmu.notice(&notice);
            self.observers
                .iter_mut()
                .for_each(|mmu| mmu.notice(&notice));
        }
    }

    /// Switches all machines to an address space.
    pub(super) fn switch(&mut self, space: SpaceId) {
        self.translate_now(None);
        if self.mmu.running.0 != space {
            self.end_classes();
        }
        for mmu in &mut self.observers {
            mmu.switch(space);
        }
        if let Some(tag) = self.switch_core(space)
            && let Some(charged) = &mut self.charged
        {
            charged.space_is_gone(tag);
        }
    }
}
