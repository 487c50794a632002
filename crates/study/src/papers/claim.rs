//! A claim of a paper: its text, our verdict, and the paper's magnitudes with ours.

use std::fmt::Write as _;

use broadleaf_metrics::PaperVerdict;

use super::table::wrapped;

/// Magnitudes that differ by a larger factor than this need a reason.
const FAR_APART: f64 = 1.5;

/// A claim of a paper with our verdict.
#[derive(Clone, Debug)]
pub struct PaperClaim {
    /// True if our figures agree.
    pub agrees: bool,
    /// True if our figures neither support nor contradict the claim. Such a claim does not agree.
    pub is_not_shown: bool,
    /// The claim, as a sentence.
    pub text: String,
    magnitudes: Vec<Magnitude>,
    reason: Option<String>,
}

/// A magnitude of the paper and ours.
#[derive(Clone, Debug)]
struct Magnitude {
    paper: String,
    here: String,
    far: bool,
}

impl PaperClaim {
    /// A claim of the paper in words, and whether it agrees.
    pub fn new(agrees: bool, text: impl Into<String>) -> Self {
        Self {
            agrees,
            is_not_shown: false,
            text: text.into(),
            magnitudes: Vec::new(),
            reason: None,
        }
    }

    /// Adds a number of the paper and ours. Numbers that are far apart are marked.
    pub fn number(&mut self, paper: f64, here: f64, written: impl Fn(f64) -> String) -> &mut Self {
        let (less, more) = (paper.min(here), paper.max(here));
        self.magnitudes.push(Magnitude {
            paper: written(paper),
            here: written(here),
            far: more > less * FAR_APART,
        });
        self
    }

    /// Adds our figure and the paper's words, if the paper gives no number.
    pub fn words(&mut self, paper: &str, here: impl Into<String>) -> &mut Self {
        self.magnitudes.push(Magnitude {
            paper: paper.to_owned(),
            here: here.into(),
            far: false,
        });
        self
    }

    /// Marks a claim that our figures neither support nor contradict, and gives the reason.
    pub fn not_shown_because(&mut self, reason: impl Into<String>) -> &mut Self {
        (self.agrees, self.is_not_shown) = (false, true);
        self.because(reason)
    }

    /// Gives the reason why magnitudes are far apart, or why the claim fails.
    pub fn because(&mut self, reason: impl Into<String>) -> &mut Self {
        self.reason = Some(reason.into());
        self
    }

    /// The reason, if one is needed: for a claim that fails, and for magnitudes that are far apart.
    fn reason(&self) -> Option<&str> {
        let far = self.magnitudes.iter().any(|magnitude| magnitude.far);
        let needed = far || !self.agrees;
        needed.then(|| match &self.reason {
            Some(reason) => reason,
            None => "the reason is not known",
        })
    }

    /// Formats the claim for people: the verdict, then magnitudes and the reason. `source` names
    /// the source of the paper's figures, such as "paper" or "slides".
    pub fn write(&self, source: &str, out: &mut String) {
        let verdict = match (self.agrees, self.is_not_shown) {
            (true, _) => "agrees",
            (false, true) => "not shown",
            (false, false) => "does not agree",
        };
        let _ = writeln!(out, "  {verdict}: {}", self.text);
        for Magnitude { paper, here, far } in &self.magnitudes {
            let far = if *far { " (far apart)" } else { "" };
            let _ = writeln!(out, "    {source}: {paper}; here: {here}{far}");
        }
        let reason = self.reason().map(|reason| format!("reason: {reason}"));
        for line in wrapped(reason.as_deref().unwrap_or_default(), 96) {
            let _ = writeln!(out, "    {line}");
        }
    }

    /// The claim as a record.
    pub fn record(&self) -> PaperVerdict {
        let [_, claim, agrees, paper, here, reason] = self.cells("");
        PaperVerdict {
            claim,
            agrees,
            paper,
            here,
            reason,
        }
    }

    /// The heads of [`Self::cells`].
    pub const COLUMNS: [&str; 6] = ["table", "claim", "agrees", "paper", "here", "reason"];

    /// Formats the claim for programs: a row of the table of all claims.
    pub fn cells(&self, table: &str) -> [String; 6] {
        let joined = |figure: fn(&Magnitude) -> &str| {
            let figures: Vec<&str> = self.magnitudes.iter().map(figure).collect();
            figures.join("; ")
        };
        [
            table.to_owned(),
            self.text.clone(),
            match (self.agrees, self.is_not_shown) {
                (true, _) => "yes",
                (false, true) => "not shown",
                (false, false) => "no",
            }
            .to_owned(),
            joined(|magnitude| &magnitude.paper),
            joined(|magnitude| &magnitude.here),
            self.reason().unwrap_or_default().to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(claim: &PaperClaim) -> String {
        let mut out = String::new();
        claim.write("paper", &mut out);
        out
    }

    #[test]
    fn magnitudes_that_are_far_apart_need_a_reason() {
        let percent = |part: f64| format!("{part} %");
        let mut claim = PaperClaim::new(true, "it gains");
        claim.number(30.0, 40.0, percent).because("other programs");
        assert_eq!(
            text(&claim),
            "  agrees: it gains\n    paper: 30 %; here: 40 %\n"
        );
        claim.number(30.0, 86.0, percent);
        assert_eq!(
            text(&claim),
            "  agrees: it gains\n    paper: 30 %; here: 40 %\n    paper: 30 %; here: 86 % (far \
             apart)\n    reason: other programs\n"
        );
        let cells = claim.cells("gains");
        assert_eq!(cells[3..], ["30 %; 30 %", "40 %; 86 %", "other programs"]);
    }

    #[test]
    fn a_claim_that_fails_says_why_or_that_nobody_knows() {
        let mut claim = PaperClaim::new(false, "it gains");
        claim.words("poorly", "1.00x");
        let expected = "  does not agree: it gains\n    paper: poorly; here: 1.00x\n    reason: \
                        the reason is not known\n";
        assert_eq!(text(&claim), expected);
        claim.because("it is small");
        assert!(text(&claim).ends_with("    reason: it is small\n"));
    }

    #[test]
    fn a_claim_without_figures_is_not_shown() {
        let mut claim = PaperClaim::new(true, "it gains");
        claim
            .words("a lot", "no figure")
            .not_shown_because("no run");
        assert!(!claim.agrees);
        assert_eq!(claim.cells("gains")[2], "not shown");
        let mut out = String::new();
        claim.write("slides", &mut out);
        let expected =
            "  not shown: it gains\n    slides: a lot; here: no figure\n    reason: no run\n";
        assert_eq!(out, expected);
    }
}
