//! Messages to a service manager, by the protocol of systemd (`sd_notify(3)`). Without a manager,
//! they go nowhere.

use sd_notify::NotifyState;

/// The service manager that started this process.
#[derive(Debug, Default)]
pub(super) struct ServiceManager {
    /// The status that was sent last.
    status: String,
    is_ready: bool,
    /// True after a message could not be sent. Only the first failure is reported.
    has_failed: bool,
}

impl ServiceManager {
    /// Reports the status of the service. The first call also reports that the service is ready.
    pub(super) fn status(&mut self, status: String) {
        if self.is_ready && self.status == status {
            return;
        }
        let text = NotifyState::Status(&status);
        let failed = match self.is_ready {
            true => sd_notify::notify(&[text]),
            false => sd_notify::notify(&[NotifyState::Ready, text]),
        };
        self.is_ready = true;
        self.status = status;
        self.note(failed);
    }

    /// Reports that the service begins to read its rules again.
    pub(super) fn reloading(&mut self) {
        // systemd since 253 takes the time of the reload; without it, the reload would fail there.
        let sent = NotifyState::monotonic_usec_now()
            .and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now]));
        self.note(sent);
    }

    /// Reports that the rules were read again, or that the previous rules stay.
    pub(super) fn reloaded(&mut self) {
        self.note(sd_notify::notify(&[NotifyState::Ready]));
    }

    /// Reports that the service ends.
    pub(super) fn stopping(&mut self) {
        self.note(sd_notify::notify(&[NotifyState::Stopping]));
    }

    fn note(&mut self, sent: std::io::Result<()>) {
        if let Err(error) = sent
            && !self.has_failed
        {
            self.has_failed = true;
            log::warn!(
                event = "manager_unreachable";
                "the service manager cannot be told of the service's state: {error}"
            );
        }
    }
}
