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
        let all = in_oracle(number).into_iter().map(Self::InOracle);
        let frames = WITH_FRAMES.iter().copied().map(Self::WithFrames);
        let all: Vec<Self> = all.chain(frames).collect();
        all[usize::from(choice) % all.len()]
    }
    /// The name of the policy.
    pub(super) fn name(self) -> String {
        match self {
            Self::InOracle(policy) => policy.to_string(),
            Self::WithFrames(name) => name.to_owned(),
        }
    }
}

/// All policies of the oracle. Some have a number of pages of their own, which a byte gives.
fn in_oracle(number: u8) -> Vec<PolicySpec> {
    let number = 1 + u64::from(number);
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
    PolicySpec::ALL.into_iter().chain(numbered).collect()
}

/// Several policies and machines of one replay.
#[derive(Debug)]
pub(super) struct TogetherCase {
    /// Two to four policies.
    pub(super) policies: Vec<PolicySpec>,
    /// One or two machines.
    pub(super) machines: Vec<OracleMachine>,
    /// One to three threads.
    pub(super) threads: usize,
}

impl TogetherCase {
    /// The policies, machines and threads of three bytes. The first policy and the first machine
    /// are those of the case, if the oracle knows the policy.
    fn new([counts, others, machine]: [u8; 3], first: &ReplayCase, number: u8) -> Self {
        let (counts, others) = (usize::from(counts), usize::from(others));
        let mut left = in_oracle(number);
        let mut policies = Vec::new();
        if let FuzzPolicy::InOracle(policy) = first.policy {
            policies.push(policy);
        }
        while policies.len() < 2 + counts % 3 {
            // Two policies of one name would be one policy.
            left.retain(|policy| !policies.contains(policy));
            policies.push(left[(others + 7 * policies.len()) % left.len()]);
        }
        let mut all = OracleMachine::ALL.to_vec();
        all.retain(|machine| *machine != first.machine);
        let mut machines = vec![first.machine];
        if counts / 3 % 2 == 1 {
            machines.push(all[usize::from(machine) % all.len()]);
        }
        let threads = 1 + counts / 6 % 3;
        Self {
            policies,
            machines,
            threads,
        }
    }
}

/// An input of the target.
#[derive(Debug)]
pub(super) struct ReplayCase {
    pub(super) machine: OracleMachine,
    pub(super) policy: FuzzPolicy,
    /// The last bytes, which choose the number of policies, machines and threads.
    spare: [u8; 3],
    /// The number of pages of some policies.
    number: u8,
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
    /// 7. The last bytes, up to three if the length is no multiple of 4, choose the replay of
    /// several policies ([`ReplayCase::together`]).
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let (&[ways, policy, number, mapped_spaces], steps) = bytes.split_first_chunk()?;
        let (steps, rest) = steps.as_chunks::<4>();
        let mut spare = [0; 3];
        spare[..rest.len()].copy_from_slice(rest);
        let steps = &steps[..steps.len().min(MOST_STEPS)];
        let step = |&[action, low, high, _]: &[u8; 4]| ScriptStep {
            action: Action::ALL[usize::from(action) % Action::ALL.len()],
            seed: u64::from(u16::from_le_bytes([low, high])),
        };
        Some(Self {
            machine: OracleMachine::ALL[usize::from(ways >> 1 & 0x3f) % OracleMachine::ALL.len()],
            policy: FuzzPolicy::new(policy, number),
            spare,
            number,
            is_short: ways & 0x80 != 0,
            script: Script {
                grain: [Grain::Page, Grain::Line][usize::from(ways & 1)],
                mapped_spaces,
                steps: steps.iter().map(step).collect(),
            },
            edits: steps.iter().map(|[.., edit]| *edit).collect(),
        })
    }

    /// The replay of several policies on several machines and threads.
    pub(super) fn together(&self) -> TogetherCase {
        TogetherCase::new(self.spare, self, self.number)
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
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::{ReplayCase, TogetherCase};

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

    /// A seed `together-4-2-3` has four policies on two machines and three threads.
    #[test]
    fn seeds_of_several_policies_have_the_numbers_of_their_names() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/replay");
        let mut named = 0;
        for seed in fs::read_dir(folder).expect("the seeds") {
            let seed = seed.expect("a seed");
            let name = seed.file_name().into_string().expect("a name");
            let Some(numbers) = name.strip_prefix("together-") else {
                continue;
            };
            let bytes = fs::read(seed.path()).expect("a seed");
            let TogetherCase {
                policies,
                machines,
                threads,
            } = ReplayCase::new(&bytes).expect("a case").together();
            let found = format!("{}-{}-{threads}", policies.len(), machines.len());
            assert_eq!(found, numbers);
            named += 1;
        }
        assert!(named >= 3, "{named} seeds");
    }

    #[test]
    fn policies_and_machines_of_one_replay_are_different() {
        for spare in 0..=u16::MAX {
            let [counts, others] = spare.to_le_bytes();
            let bytes = [8, others, 63, 0, counts, others, counts];
            let together = ReplayCase::new(&bytes).expect("a case").together();
            let names: BTreeSet<String> =
                together.policies.iter().map(ToString::to_string).collect();
            assert_eq!(names.len(), together.policies.len(), "{together:?}");
            assert!((2..=4).contains(&names.len()), "{together:?}");
            let machines = &together.machines;
            assert!(machines.len() == 1 || machines[0] != machines[1]);
        }
    }
}
