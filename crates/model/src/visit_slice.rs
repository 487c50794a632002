//! Visits in order, as a source hands them out.

use broadleaf_filter::{Sieve, Sifted};
use broadleaf_trace::reduced::Sums;
use broadleaf_trace::{Phrased, Visit};

/// Visits in order, one by one or by the words of their part.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VisitSlice<'v> {
    /// One by one.
    Each(&'v [Visit]),
    /// By their words.
    Named(Phrased<'v>),
}

impl VisitSlice<'_> {
    /// The number of visits.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Each(visits) => visits.len(),
            Self::Named(phrased) => phrased.words.len(),
        }
    }

    /// The visits from `from` up to `to`.
    pub(crate) fn range(&self, from: usize, to: usize) -> Self {
        match self {
            Self::Each(visits) => Self::Each(&visits[from..to]),
            Self::Named(phrased) => Self::Named(Phrased {
                vocabulary: phrased.vocabulary,
                words: &phrased.words[from..to],
            }),
        }
    }

    /// One of the visits.
    #[inline]
    pub(crate) fn visit(&self, at: usize) -> Visit {
        match self {
            Self::Each(visits) => visits[at],
            Self::Named(phrased) => phrased.vocabulary[usize::from(phrased.words[at])],
        }
    }

    /// Filters the visits, and adds them to `sums`.
    pub(crate) fn sift(&self, sieve: &mut Sieve, shift: u32, sifted: &mut Sifted, sums: &mut Sums) {
        match self {
            Self::Each(visits) => sieve.sift(visits, shift, sifted, sums),
            Self::Named(phrased) => sieve.sift_phrased(phrased, shift, sifted, sums),
        }
    }
}
