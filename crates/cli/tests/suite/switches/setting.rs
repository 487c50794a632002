//! The setting of the system under which the tests of switches run.

use std::fs;
use std::path::Path;

use broadleaf_study::answer::kernel::{SETTINGS, enabled};

use crate::support::live::has_room;

/// The setting `enabled` of the system, if programs that ask get huge pages under it at once. Under
/// some settings of `defrag`, a page fault takes only memory that happens to be contiguous.
pub(super) fn setting() -> Option<String> {
    let setting = enabled(Path::new(SETTINGS)).filter(|setting| setting != "never");
    if setting.is_none() {
        eprintln!("skipped: the kernel makes no huge pages");
    }
    let defrag = fs::read_to_string(Path::new(SETTINGS).join("defrag")).unwrap_or_default();
    if ["[never]", "[defer]"]
        .iter()
        .any(|chosen| defrag.contains(chosen))
    {
        eprintln!(
            "skipped: page faults do not wait for huge pages (defrag: {})",
            defrag.trim()
        );
        return None;
    }
    setting.filter(|_| has_room())
}
