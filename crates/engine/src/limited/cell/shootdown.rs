//! Translations that leave the TLB, and the tags by which the TLB tells address spaces apart.

use super::Cell;
use crate::limited::charged::Charged;
use broadleaf_memory::Shootdown;
use broadleaf_memory::system::Place;
use broadleaf_translation::SpaceTag;
use broadleaf_translation::charges::Candidate;
use broadleaf_units::SpaceId;

impl Cell<'_> {
    pub(super) fn shoot_down(&mut self) {
        let mut charged = self.charged.take();
        self.carry_out(charged.as_deref_mut());
        self.charged = charged;
    }

    pub(super) fn shoot_down_charged(&mut self, charged: &mut Charged<'_>) {
        if self.system.has_shootdowns() {
            self.carry_out(Some(charged));
        }
    }

    /// Takes out of the TLB what it has to forget.
    fn carry_out(&mut self, mut charged: Option<&mut Charged<'_>>) {
        let shootdowns: Vec<Shootdown> = self.system.shootdowns().collect();
        for shootdown in shootdowns {
            match shootdown {
                Shootdown::Nothing => {}
                Shootdown::Superpage { space, first, size } => {
                    let Some(tag) = self.tags.get(&space).copied() else {
                        continue;
                    };
                    // An extent that the TLB holds as smaller pages has no translation of its own.
                    if self.translated.contains(&size) {
                        self.tlb.invalidate(tag, first, size);
                    }
                    if let Some(charged) = &mut charged
                        && let Some(level) = self.system.level_of(size)
                    {
                        let first = self.system.base_page(first);
                        charged.demoted(Candidate { tag, first, level });
                    }
                }
                Shootdown::Range { space, pages } => {
                    let Some(tag) = self.tags.get(&space).copied() else {
                        continue;
                    };
                    self.tlb.invalidate_range(tag, pages.first(), pages.len());
                    if let Some(recorder) = &mut self.recorder {
                        let (page, pages) = self.system.base_pages(pages);
                        recorder.shot_down(Place { space, page }, pages);
                    }
                    if let Some(charged) = &mut charged {
                        let (start, pages) = self.system.base_pages(pages);
                        charged.shot_down(tag, start, pages);
                    }
                }
                Shootdown::Space(space) => {
                    let Some(tag) = self.tags.remove(&space) else {
                        continue;
                    };
                    self.tlb.invalidate_space(tag);
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

    /// What tells an address space apart in the TLB. Tags go round; one that comes again begins with nothing.
    pub(super) fn tag_of(&mut self, space: SpaceId) -> SpaceTag {
        if let Some(tag) = self.tags.get(&space) {
            return *tag;
        }
        let number = self.next_tag % SpaceTag::COUNT;
        let tag = SpaceTag::new(number).unwrap_or_default();
        if self.next_tag >= SpaceTag::COUNT {
            self.tlb.invalidate_space(tag);
            if let Some(charged) = &mut self.charged {
                charged.space_is_gone(tag);
            }
            self.tags.retain(|_, other| *other != tag);
        }
        self.next_tag += 1;
        self.tags.insert(space, tag);
        tag
    }
}
