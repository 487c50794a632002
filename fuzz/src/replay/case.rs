//! The trace, the policy and the machine that an input encodes.

use broadleaf_model::MemoryLimits;
use broadleaf_oracle::random::{Action, Script, ScriptStep};
use broadleaf_oracle::{OracleMachine, PolicySpec, Recording};
use broadleaf_trace::Grain;

/// The actions of steps, by the first byte.
const ACTIONS: [Action; 17] = [
    Action::Fill,
    Action::Wander,
    Action::Chase,
    Action::Straddle,
    Action::Wait,
    Action::Map,
    Action::Tile,
    Action::Unmap,
    Action::Protect,
    Action::Advise,
    Action::Populate,
    Action::Remap,
    Action::Brk,
    Action::StackGrow,
    Action::Switch,
    Action::Leave,
    Action::Noise,
];

/// Policies that need frames. The oracle does not know them.
const WITH_FRAMES: [&str; 6] = ["navarro", "freebsd14", "linux", "ingens", "hawkeye", "asap"];

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
        let frames = WITH_FRAMES.into_iter().map(Self::WithFrames);
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
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let (&[ways, policy, number, mapped_spaces], steps) = bytes.split_first_chunk()?;
        let (steps, _) = steps.as_chunks::<4>();
        let steps = &steps[..steps.len().min(MOST_STEPS)];
        let step = |&[action, low, high, _]: &[u8; 4]| ScriptStep {
            action: ACTIONS[usize::from(action) % ACTIONS.len()],
            seed: u64::from(u16::from_le_bytes([low, high])),
        };
        Some(Self {
            machine: OracleMachine::ALL[usize::from(ways >> 1) % 4],
            policy: FuzzPolicy::new(policy, number),
            is_short: ways & 8 != 0,
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
