//! The trace, the policy and the machine that an input encodes.

use std::sync::LazyLock;

use broadleaf_model::MemoryLimits;
use broadleaf_oracle::random::{Action, Script, ScriptStep};
use broadleaf_oracle::{OracleMachine, PolicySpec, Recording};
use broadleaf_trace::Grain;

/// The policies that need frames, by their names in the catalogue. The oracle does not know them.
static WITH_FRAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let names = broadleaf_policy::catalogue().iter();
    let names = names.flat_map(|entry| entry.examples).copied();
    let needs_frames = |name: &&str| {
        let policy = broadleaf_policy::parse(name).expect("an example of the catalogue");
        policy.needs().needs_frames()
    };
    names.filter(needs_frames).collect()
});

/// The maximum number of steps. The oracle is slow.
const MOST_STEPS: usize = 24;

/// A policy.
#[derive(Clone, Copy, Debug)]
pub(super) enum FuzzPolicy {
    /// All models know the policy.
    InOracle(PolicySpec),
    /// Only the frame-level model knows the policy.
    WithFrames(&'static str),
}

impl FuzzPolicy {
    /// The policy of two bytes. The second byte is a number of pages.
    fn new(choice: u8, number: u8) -> Self {
        let (choice, number) = (usize::from(choice), 1 + u64::from(number));
        let numbered = [
            PolicySpec::Pop(number),
            PolicySpec::Dirty(number),
            PolicySpec::Life(8 * number),
            PolicySpec::Advice {
                anonymous: number,
                file: 2 * number,
                file_dirty: number,
            },
        ];
        let all = PolicySpec::ALL.into_iter().chain(numbered);
        let all = all.map(Self::InOracle);
        let frames = WITH_FRAMES.iter().copied().map(Self::WithFrames);
        let all: Vec<Self> = all.chain(frames).collect();
        all[choice % all.len()]
    }

    /// The name of the policy.
    pub(super) fn name(self) -> String {
        match self {
            Self::InOracle(policy) => policy.to_string(),
            Self::WithFrames(name) => name.to_owned(),
        }
    }
}

/// An input of the target.
#[derive(Debug)]
pub(super) struct ReplayCase {
    pub(super) machine: OracleMachine,
    pub(super) policy: FuzzPolicy,
    /// True if memory runs short.
    is_short: bool,
    script: Script,
    /// One edit for each step.
    edits: Vec<u8>,
}

impl ReplayCase {
    /// Returns `None` if the input is too short.
    ///
    /// The first byte has the grain in bit 0, the machine in bits 1 to 6, and short memory in bit
    /// 7.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let (&[ways, policy, number, mapped_spaces], steps) = bytes.split_first_chunk()?;
        let (steps, _) = steps.as_chunks::<4>();
        let steps = &steps[..steps.len().min(MOST_STEPS)];
        let step = |&[action, low, high, _]: &[u8; 4]| ScriptStep {
            action: Action::ALL[usize::from(action) % Action::ALL.len()],
            seed: u64::from(u16::from_le_bytes([low, high])),
        };
        Some(Self {
            machine: OracleMachine::ALL[usize::from(ways >> 1 & 0x3f) % OracleMachine::ALL.len()],
            policy: FuzzPolicy::new(policy, number),
            is_short: ways & 0x80 != 0,
            script: Script {
                grain: [Grain::Page, Grain::Line][usize::from(ways & 1)],
                mapped_spaces,
                steps: steps.iter().map(step).collect(),
            },
            edits: steps.iter().map(|[.., edit]| *edit).collect(),
        })
    }

    /// The memory in which the model and its filter are compared.
    pub(super) fn limits(&self) -> MemoryLimits {
        if self.is_short {
            MemoryLimits::new(6 << 20)
        } else {
            MemoryLimits::none()
        }
    }

    /// The trace of the script after the edits. An edit of `n + 1` removes item `n`.
    pub(super) fn recording(&self) -> Recording {
        let mut recording = self.script.recording();
        for edit in &self.edits {
            let item = usize::from(*edit).checked_sub(1);
            if let Some(item) = item.filter(|item| *item < recording.items.len()) {
                recording.items.remove(item);
            }
        }
        recording
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::ReplayCase;

    /// The longest name of the catalogue that a name begins with.
    fn family(name: &str) -> Option<&'static str> {
        let families = broadleaf_policy::catalogue().iter();
        let families = families.map(|entry| entry.name);
        let begun = families.filter(|family| name.starts_with(family));
        begun.max_by_key(|family| family.len())
    }

    /// A policy in an input is an index, which a new policy may move.
    #[test]
    fn seeds_named_after_policies_have_these_policies() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/replay");
        let mut named = 0;
        for seed in fs::read_dir(folder).expect("the seeds") {
            let seed = seed.expect("a seed");
            let name = seed.file_name().into_string().expect("a name");
            let Some(expected) = family(&name) else {
                continue;
            };
            let bytes = fs::read(seed.path()).expect("a seed");
            let case = ReplayCase::new(&bytes).expect("a case");
            assert_eq!(family(&case.policy.name()), Some(expected), "{name}");
            assert_eq!(case.is_short, name.ends_with("-short"), "{name}");
            named += 1;
        }
        assert!(named >= 5, "{named} seeds");
    }
}
