//! Where each tick is written down, if that was asked for.

use std::ffi::OsString;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use broadleaf_governor::Ticked;
use broadleaf_governor::journal::{Header, JOURNAL_SCHEMA, Journal};
use broadleaf_policy::Policy;

use super::{budgets, say};
use crate::args::Govern;
use broadleaf_study::failure::{Failure, reason};
use broadleaf_study::output::{Access, Direct, Replace, refuse_input, shown};

/// A journal under way, or none.
pub(super) struct Notes(Option<Journal<Direct>>);

impl Notes {
    /// Begins a journal where one was asked for.
    ///
    /// # Errors
    /// Where something stands at its place already, or nothing can be written there.
    pub(super) fn begin(
        options: &Govern,
        policy: &dyn Policy,
        command: &[OsString],
    ) -> Result<Self, Failure> {
        let Some(path) = &options.journal else {
            return Ok(Self(None));
        };
        refuse_input(path, command.iter().map(Path::new))?;
        let header = Header {
            schema: JOURNAL_SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: policy.name(),
            budgets: budgets(options),
            command: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            dry: options.dry_run,
            started: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
        };
        let file = Direct::claim(path, options.force, Access::Everyone, Replace::WhenBegun)?;
        let journal = Journal::begin(file, &header);
        let name = shown(path);
        journal
            .map(|journal| Self(Some(journal)))
            .map_err(|error| Failure::writing(&name, &error))
    }

    /// Writes down a tick. Where that fails it is said, once, and the program is governed on: it must not suffer for want of a journal.
    pub(super) fn note(&mut self, ticked: &Ticked) {
        if let Some(journal) = &mut self.0
            && let Err(error) = journal.tick(ticked)
        {
            say(format_args!(
                "the journal ends here, because it cannot be written: {}. The policy continues to act on the program",
                reason(&error)
            ));
            self.0 = None;
        }
    }
}
