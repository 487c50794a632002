//! Reports of a recorded guest: the kernel's own counters, and the plugin's.

use std::collections::BTreeMap;

/// The counters of a recording of a guest, from the guest's kernel and from the plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestReport {
    /// The wait status of the command in the guest; `None` if the guest ended before it.
    pub status: Option<i32>,
    /// Page faults by the guest's own counter (`pgfault`) while it was recorded.
    pub kernel_faults: Option<u64>,
    /// Page faults that the trace holds.
    pub faults: u64,
    /// Huge pages that the guest's kernel made while it was recorded: at faults, by khugepaged, and
    /// the one of zeroes.
    pub kernel_huge_pages: Option<u64>,
    /// Huge pages of programs that the trace holds. One that a fork shares counts once.
    pub huge_pages: u64,
    /// Switches of address spaces.
    pub switches: u64,
    /// Page walks of the recorder.
    pub walks: u64,
    /// References without a translation of ours.
    pub untranslated: u64,
    /// The output of the guest's console, if it was not shown.
    pub console: String,
    /// The events of the kernel, if it emits any.
    pub events: Option<KernelEventCounts>,
    /// True if the guest was to emit events, and never announced its page of them.
    pub lacks_events: bool,
    /// True if the clock was to be divided, and the guest's timers did not follow.
    pub has_fast_timers: bool,
    /// The comparison with QEMU's translations, if it was asked for.
    pub check: Option<TranslationCheck>,
}

/// The stores to the page of kernel events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelEventCounts {
    /// Events that the trace holds.
    pub recorded: u64,
    /// Stores that are no event: an unknown number, or an impossible argument.
    pub invalid: u64,
    /// Events about an address space that the recorder does not know.
    pub homeless: u64,
}

/// The comparison of each reference's translation with QEMU's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TranslationCheck {
    /// References that were compared.
    pub compared: u64,
    /// References with different physical addresses.
    pub different: u64,
    /// References to devices, which have no address in memory.
    pub devices: u64,
}

impl GuestReport {
    /// Reads what came over the guest's second serial port, and the plugin's summary.
    /// `checked` is true if translations were compared, and `emits_events` if the guest was to emit
    /// events.
    pub(super) fn of(serial: &str, summary: &str, checked: bool, emits_events: bool) -> Self {
        let mut counters = BTreeMap::new();
        let (mut status, mut has_fast_timers) = (None, false);
        for line in serial.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["status", number] => status = number.parse().ok(),
                ["slow-timers", number] => has_fast_timers = number == "0",
                [when, name, number] => {
                    if let Ok(number) = number.parse::<u64>() {
                        counters.insert((when.to_owned(), name.to_owned()), number);
                    }
                }
                _ => {}
            }
        }
        let since = |name: &str| {
            let at = |when: &str| counters.get(&(when.to_owned(), name.to_owned())).copied();
            at("end")?.checked_sub(at("begin")?)
        };
        let counted = |name: &str| -> u64 {
            let lines = summary.lines();
            let mut found = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            found.next().and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let made = [
            "thp_fault_alloc",
            "thp_collapse_alloc",
            "thp_zero_page_alloc",
        ];
        let huge = made.iter().map(|name| since(name)).sum::<Option<u64>>();
        Self {
            status,
            console: String::new(),
            kernel_faults: since("pgfault"),
            faults: counted("faults"),
            kernel_huge_pages: huge,
            huge_pages: counted("huge-pages"),
            switches: counted("switches"),
            walks: counted("walks"),
            untranslated: counted("untranslated"),
            events: (counted("events-page") > 0).then(|| KernelEventCounts {
                recorded: counted("kernel-events"),
                invalid: counted("invalid-kernel-events"),
                homeless: counted("homeless-kernel-events"),
            }),
            lacks_events: emits_events && summary.lines().any(|line| line == "events-page 0"),
            has_fast_timers,
            check: checked.then(|| TranslationCheck {
                compared: counted("checked"),
                different: counted("different"),
                devices: counted("devices"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_differences() {
        let serial = "begin pgfault 100\r\nbegin thp_fault_alloc 1\r\n\
                      begin thp_zero_page_alloc 2\r\nend thp_zero_page_alloc 2\r\n\
                      begin thp_collapse_alloc 0\r\nend pgfault 350\r\n\
                      end thp_fault_alloc 4\r\nend thp_collapse_alloc 1\r\n\
                      status 256\r\n";
        let summary = "checked 10\ndifferent 0\ndevices 3\nfaults 250\nfault-exceptions 251\n";
        let report = GuestReport::of(serial, summary, true, false);
        assert_eq!(report.status, Some(256));
        assert_eq!((report.kernel_faults, report.faults), (Some(250), 250));
        assert_eq!(report.kernel_huge_pages, Some(4));
        let check = report.check.expect("it was asked for");
        assert_eq!((check.compared, check.different, check.devices), (10, 0, 3));
        assert_eq!(GuestReport::of("", "", false, true).kernel_faults, None);
    }

    #[test]
    fn a_guest_says_whether_its_timers_are_slow() {
        let report = |serial| GuestReport::of(serial, "", false, false).has_fast_timers;
        assert!(report("slow-timers 0\r\nstatus 0\r\n"));
        assert!(!report("slow-timers 1\r\nstatus 0\r\n") && !report("status 0\r\n"));
    }

    #[test]
    fn a_guest_that_announces_no_page_of_events_lacks_them() {
        let report = |page: u8, emits| {
            let summary = format!("kernel-events 0\nevents-page {page}\n");
            GuestReport::of("", &summary, false, emits)
        };
        assert!(report(0, true).lacks_events);
        assert!(!report(0, false).lacks_events);
        let found = report(1, true);
        assert!(!found.lacks_events && found.events.is_some());
        assert!(!GuestReport::of("", "", false, true).lacks_events);
    }
}
