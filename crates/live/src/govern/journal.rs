//! Writes the journal of a governor, if one is wanted.

use std::ffi::OsString;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use broadleaf_governor::Ticked;
use broadleaf_governor::journal::{Header, JOURNAL_SCHEMA, Journal};

use super::GovernRequest;
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::output::{Access, Direct, Replace, refuse_input, shown};

/// A journal that is being written, or none.
#[derive(Debug)]
pub(super) struct JournalNotes(Option<Journal<Direct>>);

impl JournalNotes {
    /// Begins the journal, if the request has one. `command` is the program that is started, whose
    /// files the journal must not replace.
    ///
    /// # Errors
    /// If the file exists already, or cannot be written.
    pub(super) fn begin(request: &GovernRequest, command: &[OsString]) -> Result<Self, Failure> {
        let Some(wanted) = &request.journal else {
            return Ok(Self(None));
        };
        refuse_input(&wanted.path, command.iter().map(Path::new))?;
        let header = Header {
            schema: JOURNAL_SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: request.policy.name(),
            budgets: request.budgets,
            command: wanted.command_line.clone(),
            dry: request.dry_run,
            started: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
        };
        let file = Direct::claim(
            &wanted.path,
            wanted.force,
            Access::Everyone,
            Replace::WhenBegun,
        )?;
        let journal = Journal::begin(file, &header);
        let name = shown(&wanted.path);
        journal
            .map(|journal| Self(Some(journal)))
            .map_err(|error| Failure::writing(&name, &error))
    }

    /// Writes a tick. A failure is noted once, and ends the journal. The governor continues,
    /// because the program must not suffer for want of a journal.
    pub(super) fn note(&mut self, ticked: &Ticked) {
        if let Some(journal) = &mut self.0
            && let Err(error) = journal.tick(ticked)
        {
            log::warn!(
                "the journal ends here, because it cannot be written: {}. The policy continues to \
                act on the program",
                reason(&error)
            );
            self.0 = None;
        }
    }
}
