//! A scripted policy: its fields determine every decision.

use broadleaf_policy::{Effort, Needs, Point, Policy, Refusal, Verdict, View};

/// A scripted policy: its fields determine every decision.
#[derive(Clone, Copy)]
pub(crate) struct Scripted {
    pub(crate) needs: Needs,
    /// The points at which the policy promotes.
    pub(crate) promotes_at: &'static [Point],
    /// The populated share at which the policy promotes, in quarters of the piece. 0 means the
    /// first page.
    pub(crate) quarters: u32,
    /// The effort that the host makes for an extent.
    pub(crate) effort: Effort,
    /// The points at which the policy demotes.
    pub(crate) demotes_at: &'static [Point],
}

impl Scripted {
    /// Neither promotes nor demotes.
    pub(crate) fn idle(needs: Needs) -> Self {
        Self {
            needs,
            promotes_at: &[],
            quarters: 0,
            effort: Effort::None,
            demotes_at: &[],
        }
    }

    /// Promotes at every point, from the first page on.
    pub(crate) fn eager(needs: Needs) -> Self {
        Self {
            promotes_at: Point::ALL,
            ..Self::idle(needs)
        }
    }
}

impl Policy for Scripted {
    fn name(&self) -> String {
        "scripted".to_string()
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn decide(&self, point: Point, view: &View) -> Verdict {
        if view.promoted {
            Verdict::demote_if(self.demotes_at.contains(&point))
        } else if self.promotes_at.contains(&point) {
            let reached = 4 * view.populated >= self.quarters * view.pages;
            Verdict::promote_if(reached, Refusal::TooFewResident)
        } else {
            Verdict::Pass
        }
    }

    fn effort(&self, _: Point, _: &View) -> Effort {
        self.effort
    }

    /// Ranks the most referenced pieces first.
    fn rank(&self, view: &View) -> u64 {
        view.referenced_on_average.into()
    }
}
