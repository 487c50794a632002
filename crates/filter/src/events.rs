//! Events that end no filtering.

use broadleaf_trace::Event;

/// Whether an event changes nothing that a policy sees, and takes no page and no translation away.
pub const fn is_seen_by_no_policy(event: &Event) -> bool {
    matches!(
        event,
        Event::SpaceSwitch(_)
            | Event::SpaceEnd { .. }
            | Event::ThreadStart(_)
            | Event::ThreadSwitch(_)
            | Event::ThreadEnd(_)
            | Event::Misplaced { .. }
            | Event::Fork { .. }
            | Event::Exec { .. }
    )
}
