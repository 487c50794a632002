//! Demotion: a page becomes pages of the next smaller size.

use super::frame_table::List;
use super::{Piece, Place, Pte, System};
use crate::Shootdown;
use broadleaf_units::{AlignedRun, PageNumber};

impl System<'_> {
    /// Demotes a superpage to pages of the next smaller size. All pages stay resident (Navarro
    /// 2002, on demotion).
    pub(super) fn demote(&mut self, piece: Piece) {
        if piece.level == 0 || self.tables.get(piece.first).level() != piece.level {
            return;
        }
        self.counters.demotions += 1;
        self.note_change(piece, false);
        self.fault_cycles += self.costs.demotion;
        let below = piece.level - 1;
        let each = self.pages(below);
        for (at, number) in self.places(piece).zip(0..) {
            let pte = self.tables.get(at);
            self.tables.set(at, pte.at_level(below));
            let heads = number % each == 0 && !pte.has(Pte::ZERO);
            if heads && self.frames.list(pte.frame()).is_none() {
                self.frames.put(pte.frame(), List::Active);
            }
        }
        self.compact_piece(piece);
        if below == 0 && !self.tables.get(piece.first).has(Pte::ZERO) {
            self.counters.in_superpages -= self.pages(piece.level);
        }
        self.shootdowns.push(Shootdown::Superpage {
            space: piece.first.space,
            run: AlignedRun {
                first: PageNumber(self.units(piece.first.page, 1).start),
                size: self.size(piece.level),
            },
        });
    }

    /// Breaks superpages until a base page maps this place.
    pub(super) fn demote_to_base_page(&mut self, at: Place) {
        loop {
            let level = self.tables.get(at).level();
            if level == 0 {
                return;
            }
            self.demote(self.piece(at, level));
        }
    }

    /// Demotes superpages until no superpage reaches across `from` or `to`.
    pub(super) fn cut_at(&mut self, space: broadleaf_units::SpaceId, from: u64, to: u64) {
        for edge in [from, to] {
            // A page that begins at the edge does not reach across it.
            let at = Place { space, page: edge };
            loop {
                let level = self.tables.get(at).level();
                let piece = self.piece(at, level);
                if level == 0 || piece.first.page == edge {
                    break;
                }
                self.demote(piece);
            }
        }
    }
}
