//! Sifting of visits that are given by their words.

use super::words::{STRETCH, Slot};
use super::{Looks, Sieve, made_up, own};
use crate::sifted::Sifted;
use crate::trail::Follows;
use broadleaf_trace::reduced::{Manner, Sums};
use broadleaf_trace::{Lead, Phrased, Visit};
use broadleaf_units::PageNumber;

impl Sieve {
    /// Sifts visits given by their words. All words are of one vocabulary for the life of the
    /// sieve. A word is skipped at once if its page is still in its recorded place.
    pub fn sift_phrased(
        &mut self,
        phrased: &Phrased<'_>,
        shift: u32,
        sifted: &mut Sifted,
        sums: &mut Sums,
    ) {
        if self.looks == Looks::Away || !self.recency.keeps_places() {
            let mut visits = std::mem::take(&mut self.unfolded);
            visits.extend(phrased.visits());
            self.sift_visits(&visits, shift, sifted, sums);
            visits.clear();
            self.unfolded = visits;
            return;
        }
        self.words.prepare(phrased.vocabulary, shift);
        for words in phrased.words.chunks(STRETCH) {
            let mut at = 0;
            loop {
                let begin = sums.accesses();
                let recency = &mut self.recency;
                let (left, of_words, trail) = (&words[at..], &self.words, &mut sifted.trail);
                let (passed, come_to) = match self.follows {
                    Follows::Nothing => of_words.pass(left, recency),
                    Follows::Pages => {
                        trail.pages.reserve(left.len());
                        of_words.pass_followed(left, recency, |page, _| {
                            trail.add(page);
                        })
                    }
                    Follows::Times => {
                        let follow = |page, before| trail.add_at(page, begin + before, false);
                        of_words.pass_followed(left, recency, follow)
                    }
                };
                at += passed;
                let [loads, stores, instructions] = come_to.split();
                sums.loads += loads;
                sums.stores += stores;
                sums.instructions += instructions;
                sums.data |= passed > 0;
                let Some(&word) = words.get(at) else { break };
                let visit = &phrased.vocabulary[usize::from(word)];
                self.sift_word(visit, self.words.slot(word), shift, sifted, sums);
                at += 1;
            }
        }
        self.recency.lose_newest();
    }

    /// Sifts one visit that may change something.
    fn sift_word(
        &mut self,
        visit: &Visit,
        slot: Slot,
        shift: u32,
        sifted: &mut Sifted,
        sums: &mut Sums,
    ) {
        let Sifted { kept, trail } = sifted;
        sums.instructions += u64::from(visit.instructions);
        if visit.fetch {
            return;
        }
        sums.data = true;
        let time = sums.accesses();
        sums.loads += u64::from(visit.loads);
        sums.stores += u64::from(visit.stores);
        let leads = visit.lead != Lead::None;
        let stores_to = visit.stores != 0 || visit.lead == Lead::Store;
        let known = !stores_to || self.words.was_stored_to(slot);
        let page = PageNumber(visit.unit >> shift);
        let before = trail.pages.len();
        if leads || visit.accesses() > 0 {
            self.follow(trail, page, time, leads);
        }
        if known && !leads {
            if visit.accesses() == 0 {
                return;
            }
            if let Some(place) = self.words.stands(slot) {
                self.recency.leaving_out().leave_out(place);
                return;
            }
        }
        let manner = if leads { Manner::LEAD } else { Manner::LOAD };
        let mut look_up = |page| kept.push(made_up(page, time, manner));
        let made = self.recency.note_made(page, &mut look_up);
        self.words.make(slot, made);
        if !known {
            self.words.store(slot);
            if let Some(fallen) = self.note_store(page) {
                self.words.fall(fallen);
            }
        }
        kept.push(own(visit, page, time));
        if self.follows != Follows::Nothing {
            trail.keep(kept.len(), before);
        }
    }
}
