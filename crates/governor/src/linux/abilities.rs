//! The abilities of this kernel and this user, and the obstacles to a governor.

use super::calls::{ThpControl, thp_control};
use std::path::Path;

/// The system-wide setting of transparent superpages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThpSetting {
    /// The kernel makes superpages wherever it can.
    Always,
    /// The kernel makes superpages only for programs that advise them.
    Madvise,
    /// The kernel makes no superpages by itself. A governor still can.
    Never,
}

/// The abilities of this kernel and this user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// True if `/proc` is mounted, so that processes are visible.
    pub has_proc: bool,
    /// The first two numbers of the kernel's version.
    pub kernel: (u32, u32),
    /// The system-wide setting. `None` if it cannot be read, for example because the kernel was
    /// built without transparent superpages.
    pub setting: Option<ThpSetting>,
    /// True if the kernel was built with transparent superpages. The signs are its count of
    /// superpages, or the setting.
    pub has_thp: bool,
    /// True if superpages can be distinguished from full blocks. The sources are `PAGEMAP_SCAN`
    /// (Linux 6.7) or frame numbers, which take `CAP_SYS_ADMIN`.
    pub sees_superpages: bool,
    /// True if this user may change other processes' memory: `CAP_SYS_NICE`.
    pub may_change_others: bool,
    /// The control of superpages in this process and in the processes that it starts.
    pub control: ThpControl,
}

/// An obstacle to a governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// `/proc` is missing.
    #[error(
        "/proc is not mounted here, so no process can be seen; as root: `mount -t proc proc /proc`"
    )]
    NoProc,
    /// The kernel has no superpages.
    #[error(
        "there is no trace of transparent superpages: this kernel was built without them \
         (CONFIG_TRANSPARENT_HUGEPAGE), or neither /sys nor /proc/meminfo can be read here"
    )]
    NoThp,
    /// It is unknown whether the kernel makes superpages by itself.
    #[error(
        "{} cannot be read, so it is not known whether the kernel makes superpages of its own \
         accord: is /sys mounted?",
        SETTING
    )]
    SettingUnknown,
    /// The kernel has no `MADV_COLLAPSE`.
    #[error(
        "Linux {}.{} cannot make superpages of another process's memory; \
         that takes Linux 6.1 or later",
        .0.0,
        .0.1
    )]
    TooOld((u32, u32)),
    /// The outcome of a promotion cannot be seen.
    #[error(
        "before Linux 6.7, only frame numbers distinguish superpages from full blocks, and the \
         kernel shows frame numbers to CAP_SYS_ADMIN alone; without that right, each superpage \
         would be taken for one that the program broke"
    )]
    Blind,
    /// The user has no right to change other processes' memory.
    #[error(
        "this user may not change another process's memory, not even of its own programs: the \
         kernel asks for CAP_SYS_NICE. An administrator gives it to this program alone with \
         `sudo setcap cap_sys_nice+ep \"$(command -v broadleaf)\"`"
    )]
    NoRight,
    /// A parent process has forbidden superpages.
    #[error(
        "superpages are forbidden to this process and what it starts (prctl PR_SET_THP_DISABLE), \
         by what started it"
    )]
    Forbidden,
    /// The kernel makes superpages as well.
    #[error(
        "the kernel makes superpages of its own accord ({} says always), so memory may grow \
         beyond the budget; to leave it to the governor: `echo madvise | sudo tee {}`",
        SETTING,
        SETTING
    )]
    KernelToo,
}

/// The file of the system-wide setting.
const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// The number of `CAP_SYS_NICE` (`linux/capability.h`).
const CAP_SYS_NICE: u32 = 23;
/// The number of `CAP_SYS_ADMIN`.
const CAP_SYS_ADMIN: u32 = 21;

impl Obstacle {
    /// Returns true if the obstacle prevents any governing.
    pub const fn is_fatal(self) -> bool {
        !matches!(self, Self::KernelToo | Self::SettingUnknown)
    }
}

impl Abilities {
    /// Returns the abilities of this process.
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
        let setting = setting(&read(SETTING));
        let kernel = version(&super::calls::release());
        let status = read("/proc/self/status");
        Self {
            has_proc: !status.is_empty(),
            sees_superpages: kernel >= (6, 7) || has_capability(&status, CAP_SYS_ADMIN),
            kernel,
            setting,
            has_thp: setting.is_some() || counts_superpages(&read("/proc/meminfo")),
            may_change_others: has_capability(&status, CAP_SYS_NICE),
            control: thp_control(),
        }
    }

    /// Returns the obstacles to governing a program that is started here. With `attaching`, the
    /// program already runs.
    pub fn obstacles(&self, attaching: bool) -> Vec<Obstacle> {
        if !self.has_proc {
            // Rights and superpages are read from /proc as well, so nothing is known about them.
            return vec![Obstacle::NoProc];
        }
        let mut found = Vec::new();
        if !self.has_thp {
            found.push(Obstacle::NoThp);
        }
        if self.kernel < (6, 1) {
            found.push(Obstacle::TooOld(self.kernel));
        }
        if !self.sees_superpages {
            found.push(Obstacle::Blind);
        }
        if !self.may_change_others {
            found.push(Obstacle::NoRight);
        }
        if !attaching && self.control == ThpControl::Forbidden {
            found.push(Obstacle::Forbidden);
        }
        let alone = !attaching && self.kernel >= (6, 18);
        if self.setting == Some(ThpSetting::Always) && !alone {
            found.push(Obstacle::KernelToo);
        }
        if self.has_thp && self.setting.is_none() && !alone {
            found.push(Obstacle::SettingUnknown);
        }
        found
    }
}

/// Returns the first two numbers of a version. A missing number is 0.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || {
        numbers
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    };
    (next(), next())
}

/// Returns the current system-wide setting.
pub(super) fn setting_here() -> Option<ThpSetting> {
    setting(&std::fs::read_to_string(SETTING).ok()?)
}

fn setting(text: &str) -> Option<ThpSetting> {
    let chosen = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match chosen? {
        "always" => Some(ThpSetting::Always),
        "madvise" => Some(ThpSetting::Madvise),
        _ => Some(ThpSetting::Never),
    }
}

/// Returns true if the kernel counts superpages of anonymous memory. Only kernels with transparent
/// superpages do.
fn counts_superpages(meminfo: &str) -> bool {
    meminfo
        .lines()
        .any(|line| line.starts_with("AnonHugePages:"))
}

fn has_capability(status: &str, number: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> number & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABLE: Abilities = Abilities {
        has_proc: true,
        sees_superpages: true,
        kernel: (6, 18),
        setting: Some(ThpSetting::Madvise),
        has_thp: true,
        may_change_others: true,
        control: ThpControl::System,
    };

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(version("6.18.44-fc-v657\n"), (6, 18));
        assert_eq!(version("5.4"), (5, 4));
        assert_eq!(version(""), (0, 0));
        assert_eq!(
            setting("always [madvise] never\n"),
            Some(ThpSetting::Madvise)
        );
        assert_eq!(
            setting("[always] madvise never\n"),
            Some(ThpSetting::Always)
        );
        assert_eq!(setting(""), None);
        assert!(counts_superpages("MemTotal: 1 kB\nAnonHugePages:  0 kB\n"));
        assert!(!counts_superpages("MemTotal: 1 kB\n"));
        assert!(has_capability(
            "Name:\tx\nCapEff:\t0000000000800000\n",
            CAP_SYS_NICE
        ));
        assert!(!has_capability("CapEff:\t0000000000000000\n", CAP_SYS_NICE));
        assert!(!has_capability("", CAP_SYS_NICE));
    }

    #[test]
    fn each_obstacle_is_found_and_has_a_word() {
        assert_eq!(ABLE.obstacles(false), []);
        assert_eq!(ABLE.obstacles(true), []);
        let found = |abilities: Abilities, attaching| abilities.obstacles(attaching);
        let old = Abilities {
            kernel: (5, 10),
            ..ABLE
        };
        assert_eq!(found(old, false), [Obstacle::TooOld((5, 10))]);
        assert!(
            old.obstacles(false)[0]
                .to_string()
                .starts_with("Linux 5.10 cannot")
        );
        let always = Abilities {
            setting: Some(ThpSetting::Always),
            ..ABLE
        };
        assert_eq!(found(always, false), []);
        assert_eq!(found(always, true), [Obstacle::KernelToo]);
        assert_eq!(
            found(
                Abilities {
                    kernel: (6, 12),
                    ..always
                },
                false
            ),
            [Obstacle::KernelToo]
        );
        assert!(!Obstacle::KernelToo.is_fatal());
        let blind = Abilities {
            sees_superpages: false,
            ..ABLE
        };
        assert_eq!(found(blind, true), [Obstacle::Blind]);
        let powerless = Abilities {
            may_change_others: false,
            ..ABLE
        };
        assert_eq!(found(powerless, false), [Obstacle::NoRight]);
        assert!(
            Obstacle::NoRight
                .to_string()
                .contains("setcap cap_sys_nice+ep")
        );
        let forbidden = Abilities {
            control: ThpControl::Forbidden,
            ..ABLE
        };
        assert_eq!(found(forbidden, false), [Obstacle::Forbidden]);
        assert_eq!(found(forbidden, true), []);
        let unreadable = Abilities {
            setting: None,
            ..ABLE
        };
        assert_eq!(found(unreadable, true), [Obstacle::SettingUnknown]);
        assert_eq!(found(unreadable, false), []);
        assert!(!Obstacle::SettingUnknown.is_fatal());
        let without = Abilities {
            has_thp: false,
            ..unreadable
        };
        assert_eq!(found(without, true), [Obstacle::NoThp]);
        assert!(Obstacle::NoThp.is_fatal());
        // Without /proc everything else is unknown.
        let nothing = Abilities {
            has_proc: false,
            may_change_others: false,
            sees_superpages: false,
            ..without
        };
        assert_eq!(found(nothing, false), [Obstacle::NoProc]);
        assert!(Obstacle::NoProc.is_fatal());
    }
}
