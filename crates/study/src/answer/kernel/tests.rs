//! Settings as policies, policies as settings, and commands that make them.

use super::*;

/// Settings as files.
fn settings(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
    folder
}

#[test]
fn settings_are_a_policy_with_their_names() {
    let folder = settings(&[
        ("enabled", "always [madvise] never"),
        ("defrag", "always defer defer+madvise [madvise] never"),
        ("shrink_underused", "1"),
        ("use_zero_page", "0"),
        ("khugepaged/defrag", "1"),
        ("khugepaged/pages_to_scan", "8192"),
        ("khugepaged/max_ptes_none", "255"),
        ("khugepaged/scan_sleep_millisecs", "1000"),
        ("hugepages-64kB/enabled", "[always] inherit madvise never"),
        ("hugepages-2048kB/enabled", "always [inherit] madvise never"),
        ("hugepages-16kB/enabled", "always inherit madvise [never]"),
    ]);
    let policy = policy_of(folder.path()).unwrap();
    assert_eq!(
        policy,
        "linux(enabled=madvise,sizes_always=64k,scan_period=1e9,pages_to_scan=8192,\
         max_ptes_none=255,zero_page=off)"
    );
    let files = files_of(&policy).unwrap();
    for (file, value) in [
        ("enabled", "madvise"),
        ("hugepages-64kB/enabled", "always"),
        ("khugepaged/scan_sleep_millisecs", "1000"),
        ("khugepaged/pages_to_scan", "8192"),
        ("khugepaged/max_ptes_none", "255"),
        ("use_zero_page", "0"),
    ] {
        assert!(
            files.contains(&(file.to_owned(), value.to_owned())),
            "{file}: {files:?}"
        );
    }
    assert_eq!(files.len(), 6);
}

#[test]
fn a_kernel_without_settings_has_no_policy() {
    assert_eq!(policy_of(Path::new("/no/such/folder")), None);
    // Linux before 6.8 has no settings of sizes.
    let old = settings(&[("enabled", "[always] madvise never")]);
    assert_eq!(policy_of(old.path()).as_deref(), Some("linux"));
}

#[test]
fn policies_of_linux_are_commands() {
    let always = commands_of(AT_FAULTS).unwrap().command;
    assert_eq!(always, format!("echo always | sudo tee {SETTINGS}/enabled"));
    let sizes = files_of("linux(sizes=64k+2m)").unwrap();
    let names: Vec<&str> = sizes.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(
        names,
        [
            "enabled",
            "hugepages-64kB/enabled",
            "hugepages-2048kB/enabled"
        ]
    );
    assert!(files_of("pop-64").is_none());
    assert!(
        files_of("linux(khugepaged=off)").is_none(),
        "no setting stops the daemon"
    );
}

/// The settings of a machine after a command, with those before it.
#[test]
fn a_command_makes_the_policy_that_it_names() {
    let inherits = "always [inherit] madvise never";
    for policy in [
        "linux",
        "linux(enabled=madvise)",
        "linux(sizes=64k)",
        "linux(sizes=none,sizes_always=64k)",
        "linux(sizes_madvise=16k,max_ptes_none=0)",
    ] {
        let folder = settings(&[
            ("enabled", "always [madvise] never"),
            ("defrag", "always defer defer+madvise madvise [never]"),
            ("khugepaged/defrag", "0"),
            ("khugepaged/max_ptes_none", "255"),
            ("khugepaged/scan_sleep_millisecs", "1000"),
            ("hugepages-16kB/enabled", "[always] inherit madvise never"),
            ("hugepages-64kB/enabled", "always inherit madvise [never]"),
            ("hugepages-2048kB/enabled", inherits),
        ]);
        let command = commands_in(folder.path(), policy).unwrap().command;
        for written in command.split(" && ") {
            let written = written.strip_prefix("echo ").unwrap();
            let (value, file) = written.split_once(" | sudo tee ").unwrap();
            let path = folder
                .path()
                .join(file.strip_prefix(SETTINGS).unwrap().trim_matches('/'));
            let is_word = fs::read_to_string(&path).unwrap().contains('[');
            let text = if is_word {
                format!("[{value}]")
            } else {
                value.to_owned()
            };
            fs::write(path, text).unwrap();
        }
        assert_eq!(policy_of(folder.path()).as_deref(), Some(policy));
        let again = commands_in(folder.path(), policy).unwrap();
        assert!(again.command.is_empty(), "{again:?}");
    }
}

#[test]
fn defaults_are_those_of_the_policy() {
    let mut files = DEFAULTS.map(|(file, value)| (file, value.to_owned()));
    files[0].1 = "always defer defer+madvise [madvise] never".to_owned();
    let mut files: Vec<_> = files.iter().map(|(file, text)| (*file, &**text)).collect();
    files.push(("enabled", "[always] madvise never"));
    assert_eq!(policy_of(settings(&files).path()).as_deref(), Some("linux"));
}

/// The files exist on a kernel with huge pages, and take the values that they have.
#[test]
fn the_kernel_has_the_files() {
    let here = Path::new(SETTINGS);
    let Some(policy) = policy_of(here) else {
        return;
    };
    for (file, _) in files_of(&policy).expect("settings make it") {
        assert!(here.join(&file).is_file(), "{file}");
    }
    for (_, file) in SWITCHES.iter().chain(&NUMBERS).take(6) {
        let path = here.join(file);
        assert!(path.is_file() || *file == "shrink_underused", "{file}");
    }
}
