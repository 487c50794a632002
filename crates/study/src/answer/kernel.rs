//! Linux's settings of huge pages: as a policy, and as commands.

use std::fs;
use std::path::Path;

use broadleaf_metrics::SuggestedCommand;
use broadleaf_policy::parse;

/// The folder of the settings.
pub const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";
/// The policy's name.
const LINUX: &str = "linux";
/// Linux's policy at faults alone, with the setting `always`.
const AT_FAULTS: &str = "thp-always";
/// Accesses in a millisecond, at the nominal rate of policies.
const IN_MILLISECOND: u64 = 1_000_000;

/// Returns the policy `linux` with the settings in a folder like [`SETTINGS`]. Returns `None` if
/// the folder has no settings: this kernel has no huge pages of this kind.
pub fn policy_of(folder: &Path) -> Option<String> {
    policy_with(folder, &enabled(folder)?)
}

/// Returns the setting of the switch `enabled`: `always`, `madvise` or `never`. Returns `None` if
/// the folder has no settings.
pub fn enabled(folder: &Path) -> Option<String> {
    chosen(&fs::read_to_string(folder.join("enabled")).ok()?)
}

/// Returns the policy of [`policy_of`], but with this setting of the switch `enabled`.
pub fn policy_with(folder: &Path, enabled: &str) -> Option<String> {
    let read = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    read("enabled")?;
    let mut parameters = vec![("enabled", enabled.to_owned())];
    parameters.extend(read("defrag").and_then(|text| Some(("defrag", chosen(&text)?))));
    for (parameter, file) in SWITCHES {
        let on = read(file).map(|text| if text == "0" { "off" } else { "on" });
        parameters.extend(on.map(|word| (parameter, word.to_owned())));
    }
    for (parameter, file) in NUMBERS {
        parameters.extend(read(file).map(|text| (parameter, text)));
    }
    let period = read("khugepaged/scan_sleep_millisecs").and_then(|text| text.parse::<u64>().ok());
    // A daemon that never sleeps has a turn as often as the model allows.
    parameters.extend(period.map(|period| ("scan_period", format!("{}ms", period.max(1)))));
    for (parameter, word) in SIZE_WORDS {
        let sizes = sizes_with(folder, word);
        // Before Linux 6.8, there was one size without a setting of its own.
        if !(sizes.is_empty() && parameter == "sizes" && sizes_with(folder, "").is_empty()) {
            parameters.push((parameter, joined(&sizes)));
        }
    }
    let all: Vec<String> = parameters
        .into_iter()
        .map(|(parameter, value)| format!("{parameter}={value}"))
        .collect();
    // The name that the policy itself has, with defaults left out.
    let policy = parse(&format!("{LINUX}({})", all.join(","))).ok()?;
    Some(policy.name())
}

/// Parameters that are on or off, and their files.
const SWITCHES: [(&str, &str); 3] = [
    ("khugepaged_defrag", "khugepaged/defrag"),
    ("shrink_underused", "shrink_underused"),
    ("zero_page", "use_zero_page"),
];

/// Parameters that are numbers, and their files.
const NUMBERS: [(&str, &str); 4] = [
    ("pages_to_scan", "khugepaged/pages_to_scan"),
    ("max_ptes_none", "khugepaged/max_ptes_none"),
    ("max_ptes_swap", "khugepaged/max_ptes_swap"),
    ("max_ptes_shared", "khugepaged/max_ptes_shared"),
];

/// The kernel's own values of settings, which the policy has as defaults.
const DEFAULTS: [(&str, &str); 9] = [
    ("defrag", "madvise"),
    ("khugepaged/defrag", "1"),
    ("shrink_underused", "1"),
    ("use_zero_page", "1"),
    ("khugepaged/pages_to_scan", "4096"),
    ("khugepaged/max_ptes_none", "511"),
    ("khugepaged/max_ptes_swap", "64"),
    ("khugepaged/max_ptes_shared", "256"),
    ("khugepaged/scan_sleep_millisecs", "10000"),
];

/// Parameters that are sets of sizes, and the word that a size of the set has in its file.
const SIZE_WORDS: [(&str, &str); 3] = [
    ("sizes", "inherit"),
    ("sizes_always", "always"),
    ("sizes_madvise", "madvise"),
];

/// Returns the word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Returns the sizes in KiB whose setting is `word`, or all sizes if the word is empty.
fn sizes_with(folder: &Path, word: &str) -> Vec<u64> {
    let mut sizes = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let size = name
            .to_str()
            .and_then(|name| name.strip_prefix("hugepages-"));
        let size = size.and_then(|name| name.strip_suffix("kB")?.parse().ok());
        let setting = fs::read_to_string(entry.path().join("enabled")).ok();
        if let (Some(size), Some(setting)) = (size, setting)
            && (word.is_empty() || chosen(&setting).as_deref() == Some(word))
        {
            sizes.push(size);
        }
    }
    sizes.sort_unstable();
    sizes
}

/// Returns sizes in the notation of policies: `64k+2m`.
fn joined(sizes: &[u64]) -> String {
    let name = |size: &u64| match size {
        size if size.is_multiple_of(1024) => format!("{}m", size / 1024),
        size => format!("{size}k"),
    };
    match sizes {
        [] => "none".to_owned(),
        sizes => sizes.iter().map(name).collect::<Vec<_>>().join("+"),
    }
}

/// Returns the command that gives the kernel the settings of a policy, if the policy is Linux's
/// own. The settings are for all programs, until the machine starts again.
pub fn commands_of(policy: &str) -> Option<SuggestedCommand> {
    commands_in(Path::new(SETTINGS), policy)
}

/// Returns the command of [`commands_of`] for a machine with the settings in a folder.
fn commands_in(folder: &Path, policy: &str) -> Option<SuggestedCommand> {
    if policy_of(folder).as_deref() == Some(policy) {
        return Some(SuggestedCommand {
            purpose: format!(
                "or change nothing: the kernel's settings of this machine ({policy}) do equally \
                 well"
            ),
            command: String::new(),
        });
    }
    let mut files = files_of(policy)?;
    files.extend(set_back(folder, policy, &files));
    let written: Vec<String> = files
        .into_iter()
        .map(|(file, value)| format!("echo {value} | sudo tee {SETTINGS}/{file}"))
        .collect();
    Some(SuggestedCommand {
        purpose: "or set the kernel's own switches, which do equally well: for all programs"
            .to_owned(),
        command: written.join(" && "),
    })
}

/// Returns the files in [`SETTINGS`] that a policy of Linux needs, with their values. Returns
/// `None` for other policies, and for a policy that no setting makes.
pub fn files_of(policy: &str) -> Option<Vec<(String, String)>> {
    if policy == AT_FAULTS {
        return Some(vec![("enabled".to_owned(), "always".to_owned())]);
    }
    let given = match policy.strip_prefix(LINUX)? {
        "" => "",
        rest => rest.strip_prefix('(')?.strip_suffix(')')?,
    };
    let given: Vec<(&str, &str)> = (given.split(',').filter(|part| !part.is_empty()))
        .map(|part| part.split_once('='))
        .collect::<Option<_>>()?;
    let mut files = Vec::new();
    if given.iter().all(|(name, _)| *name != "enabled") {
        files.push(("enabled".to_owned(), "always".to_owned()));
    }
    for (name, value) in given {
        let value = value.trim();
        match name.trim() {
            name @ ("enabled" | "defrag") => files.push((name.to_owned(), value.to_owned())),
            "scan_period" => files.push((
                "khugepaged/scan_sleep_millisecs".to_owned(),
                (number(value)? / IN_MILLISECOND).to_string(),
            )),
            name => files.extend(other_files(name, value)?),
        }
    }
    Some(files)
}

/// Returns the files in a folder whose present values are not those of a policy that leaves them at
/// their defaults, with the values that they need. `files` are those that the policy names.
fn set_back(folder: &Path, policy: &str, files: &[(String, String)]) -> Vec<(String, String)> {
    let is_named = |file: &str| files.iter().any(|(named, _)| named == file);
    let mut set = Vec::new();
    let mut set_to = |file: &str, wanted: &str| {
        let text = fs::read_to_string(folder.join(file)).ok();
        let now = text.map(|text| chosen(&text).unwrap_or_else(|| text.trim().to_owned()));
        if now.is_some_and(|now| now != wanted) && !is_named(file) {
            set.push((file.to_owned(), wanted.to_owned()));
        }
    };
    // At faults alone, the daemon's settings mean nothing.
    if policy != AT_FAULTS {
        DEFAULTS
            .iter()
            .for_each(|(file, value)| set_to(file, value));
    }
    for size in sizes_with(folder, "") {
        // Without `sizes`, 2 MiB alone inherits the setting.
        let inherits = size == 2048 && !policy.contains("(sizes=") && !policy.contains(",sizes=");
        let wanted = if inherits { "inherit" } else { "never" };
        set_to(&format!("hugepages-{size}kB/enabled"), wanted);
    }
    set
}

fn other_files(name: &str, value: &str) -> Option<Vec<(String, String)>> {
    let of = |list: &[(&str, &'static str)]| {
        let found = list.iter().find(|(parameter, _)| *parameter == name);
        found.map(|(_, file)| *file)
    };
    if let Some(file) = of(&SWITCHES) {
        let value = if value == "on" { "1" } else { "0" };
        return Some(vec![(file.to_owned(), value.to_owned())]);
    }
    if let Some(file) = of(&NUMBERS) {
        return Some(vec![(file.to_owned(), number(value)?.to_string())]);
    }
    let word = of(&SIZE_WORDS)?;
    let sizes = value.split('+').filter(|size| *size != "none");
    sizes
        .map(|size| {
            let kib = match size.strip_suffix('m') {
                Some(mebibytes) => mebibytes.parse::<u64>().ok()? * 1024,
                None => size.strip_suffix('k')?.parse().ok()?,
            };
            Some((format!("hugepages-{kib}kB/enabled"), word.to_owned()))
        })
        .collect()
}

/// Reads a number as policies write it: 4096 or 1e10.
fn number(text: &str) -> Option<u64> {
    match text.split_once('e') {
        Some((digits, zeroes)) => {
            let power = 10_u64.checked_pow(zeroes.parse().ok()?)?;
            digits.parse::<u64>().ok()?.checked_mul(power)
        }
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
