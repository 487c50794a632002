//! Sifting of visits that are given by their words.

use super::words::STRETCH;
use super::{Looks, Sieve, StatesOf};
use crate::sifted::Sifted;
use crate::trail::Follows;
use broadleaf_trace::Phrased;
use broadleaf_trace::reduced::Sums;
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
            self.sift(&visits, shift, sifted, sums);
            visits.clear();
            self.unfolded = visits;
            return;
        }
        if self.words.prepare(phrased.vocabulary, shift) {
            self.states.resize(self.words.pages());
            self.states_of = StatesOf::Words;
        }
        self.keep_states(StatesOf::Words, self.words.pages());
        for words in phrased.words.chunks(STRETCH) {
            let mut at = 0;
            loop {
                let begin = sums.accesses();
                let recency = &mut self.recency;
                let (left, of_words, states) = (&words[at..], &self.words, &self.states);
                let trail = &mut sifted.trail;
                let (passed, come_to) = match self.follows {
                    Follows::Nothing => of_words.pass(left, states, recency),
                    Follows::Pages => {
                        trail.pages.reserve(left.len());
                        of_words.pass_followed(left, states, recency, |page, _| {
                            trail.add(page);
                        })
                    }
                    Follows::Times => {
                        let follow = |page, before| trail.add_at(page, begin + before, false);
                        of_words.pass_followed(left, states, recency, follow)
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
                let page = PageNumber(visit.unit >> shift);
                self.sift_one(visit, page, self.words.slot(word), sifted, sums);
                at += 1;
            }
        }
    }
}
