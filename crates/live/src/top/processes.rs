//! The processes of the machine, kept fresh. A refresh looks only at processes that changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use broadleaf_governor::{Kernel, KernelError, Linux, ProcessId, Vitals};
use broadleaf_metrics::ProcessReport;
use broadleaf_report::PageMap;

use super::screen::ListedProcess;
use crate::survey::gather;
use crate::users::user_name;

/// The processes of the machine, and what a policy would do to them.
#[derive(Debug)]
pub(super) struct WatchedProcesses {
    linux: Linux,
    /// The policy, as the list that [`gather::process_report`] takes.
    policy: [String; 1],
    known: BTreeMap<ProcessId, FoundProcess>,
}

/// A process that was found.
#[derive(Debug, Default)]
struct FoundProcess {
    /// The latest vitals.
    vitals: Vitals,
    /// The vitals and the time of the last look at the memory. `None` before the first look.
    looked: Option<(Vitals, Instant)>,
    /// The record of the last look. `None` if the memory may not be looked at.
    report: Option<ProcessReport>,
    /// The image of the process, and the user's name and command line while it had that image.
    described: Option<(u64, String, String)>,
}

impl FoundProcess {
    /// Returns true if the memory may have changed since the last look.
    fn is_stale(&self) -> bool {
        match &self.looked {
            None => true,
            // A process that may not be looked at may be after an exec at the earliest.
            Some((before, _)) if self.report.is_none() => before.image != self.vitals.image,
            Some((before, _)) => *before != self.vitals,
        }
    }
}

impl WatchedProcesses {
    pub(super) fn new(policy: String) -> Self {
        Self {
            linux: Linux::new(),
            policy: [policy],
            known: BTreeMap::new(),
        }
    }

    /// Finds the live processes, and looks at the memory of those that changed, for at most the
    /// given time. Those whose last look is longest ago come first.
    pub(super) fn refresh(&mut self, for_at_most: Duration) {
        let began = Instant::now();
        self.list();
        let stale = self.known.iter().filter(|(_, known)| known.is_stale());
        let mut stale: Vec<(Option<Instant>, ProcessId)> = stale
            .map(|(id, known)| (known.looked.as_ref().map(|(_, when)| *when), *id))
            .collect();
        stale.sort_unstable();
        for (_, process) in stale {
            if began.elapsed() >= for_at_most {
                break;
            }
            self.look(process);
        }
    }

    /// Finds the live processes that have memory.
    fn list(&mut self) {
        let own = std::process::id();
        let mut known = std::mem::take(&mut self.known);
        for process in self.linux.all() {
            let Ok(vitals) = self.linux.vitals(process) else {
                continue;
            };
            if process.pid == own || vitals.rss_bytes == 0 {
                continue;
            }
            let mut kept = known.remove(&process).unwrap_or_default();
            kept.vitals = vitals;
            let image = kept.vitals.image;
            if (kept.described.as_ref()).is_none_or(|(of, ..)| *of != image) {
                let found = self.linux.describe(process);
                let line = command_line(&found.command_line, &kept.vitals.command);
                kept.described = Some((image, user(found.uid), line));
            }
            self.known.insert(process, kept);
        }
    }

    fn look(&mut self, process: ProcessId) {
        let pages = self.linux.pages(process);
        let Some(known) = self.known.get_mut(&process) else {
            return;
        };
        known.looked = Some((known.vitals.clone(), Instant::now()));
        known.report = match pages {
            Ok(pages) => Some(gather::process_report(
                process,
                &known.vitals,
                &pages,
                &self.policy,
            )),
            Err(KernelError::NotAllowed) => None,
            // The process is ending or changes during the look. Its last record stays.
            Err(_) => known.report.take(),
        };
    }

    /// The processes that were looked at, by number, each with its latest size.
    pub(super) fn listed(&self) -> Vec<ListedProcess> {
        let known = self.known.iter();
        let looked = known.filter_map(|(id, known)| {
            let report = known.report.clone()?;
            let rss_bytes = known.vitals.rss_bytes;
            let (_, user, line) = known.described.clone().unwrap_or_default();
            Some(ListedProcess {
                id: *id,
                user,
                line,
                report: ProcessReport {
                    rss_bytes,
                    ..report
                },
            })
        });
        looked.collect()
    }

    /// The number of processes that may not be looked at, and of those that wait for a look.
    pub(super) fn unseen(&self) -> (usize, usize) {
        let of = |looked: bool| {
            let known = self.known.values();
            known
                .filter(|known| known.report.is_none() && known.looked.is_some() == looked)
                .count()
        };
        (of(true), of(false))
    }

    /// The blocks of a process for a picture, if the process can be looked at.
    pub(super) fn picture(&mut self, process: ProcessId) -> Option<PageMap> {
        self.linux.vitals(process).ok()?;
        let pages = self.linux.pages(process).ok()?;
        Some(gather::page_map(&pages))
    }
}

/// The name of a user, or a question mark if the user is not known.
fn user(uid: Option<u32>) -> String {
    uid.map_or_else(|| "?".to_owned(), user_name)
}

/// The words of a command line with blanks between, or the name of the program in brackets if there
/// are no words.
fn command_line(words: &[String], name: &str) -> String {
    if words.is_empty() {
        format!("[{name}]")
    } else {
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_comes_and_goes() {
        let mut watch = WatchedProcesses::new("pop-256".to_owned());
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep is there");
        let has = |watch: &WatchedProcesses| watch.known.keys().any(|id| id.pid == child.id());
        // A process that has just begun has no memory yet.
        for _ in 0..1000 {
            watch.refresh(Duration::from_secs(60));
            if has(&watch) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(has(&watch));
        assert!(watch.known.keys().all(|id| id.pid != std::process::id()));
        let processes = watch.listed();
        let listed = processes.iter().find(|one| one.id.pid == child.id());
        let own = uzers::get_current_uid();
        assert_eq!(
            listed.map(|one| (one.line.as_str(), one.user.clone())),
            Some(("sleep 60", user(Some(own))))
        );
        let (_, to_look_at) = watch.unseen();
        assert_eq!(to_look_at, 0);
        let id = *watch
            .known
            .keys()
            .find(|id| id.pid == child.id())
            .expect("it is known");
        assert!(
            watch.picture(id).is_some(),
            "one's own child can be looked at"
        );
        child.kill().expect("it lives");
        child.wait().expect("it ends");
        watch.refresh(Duration::ZERO);
        assert!(!watch.known.contains_key(&id));
        assert!(watch.picture(id).is_none());
    }

    #[test]
    fn what_has_not_changed_is_not_looked_at_again() {
        let vitals = Vitals {
            faults: 3,
            ..Vitals::default()
        };
        let report = crate::top::screen::testing::process(1, 1);
        let looked = FoundProcess {
            vitals: vitals.clone(),
            looked: Some((vitals.clone(), Instant::now())),
            report: Some(report),
            ..FoundProcess::default()
        };
        assert!(!looked.is_stale());
        let faulted = FoundProcess {
            vitals: Vitals {
                faults: 4,
                ..vitals.clone()
            },
            ..looked
        };
        assert!(faulted.is_stale());
        let refused = FoundProcess {
            report: None,
            ..faulted
        };
        assert!(!refused.is_stale());
        assert!(FoundProcess::default().is_stale());
    }
}
