//! Events that end no filtering.

use broadleaf_trace::{Event, SystemEvent};

/// Returns true if an event changes nothing that a policy sees, and removes no page and no
/// translation.
pub const fn is_seen_by_no_policy(event: &Event) -> bool {
    matches!(
        event,
        Event::SpaceSwitch(_)
            | Event::SpaceEnd { .. }
            | Event::ThreadStart(_)
            | Event::ThreadSwitch(_)
            | Event::ThreadEnd(_)
            | Event::CoreSwitch(_)
            | Event::Site(..)
            | Event::Allocation(_)
            | Event::Window(_)
            | Event::Misplaced { .. }
            | Event::Fork { .. }
            | Event::Exec { .. }
            | Event::System(
                SystemEvent::Space(_)
                    | SystemEvent::SpaceEnd
                    | SystemEvent::PageFault(_)
                    | SystemEvent::Privilege(_)
            )
    )
}
