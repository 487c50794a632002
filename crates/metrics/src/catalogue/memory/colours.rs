//! Colours of pages, and scattered superpages.

use crate::metric::MetricFigure::Optional;
use crate::metric::{Metric, cost, fact};

pub(super) const OTHER_COLOUR_PAGES: Metric = cost(
    "other_colour_pages",
    "base pages",
    "With --memory: pages that got another colour of their owner's share, because no frame of \
     their colour was free. Absent if the policy places pages without regard to colours.",
    Optional(|result| result.memory.as_ref()?.other_colour_pages),
);

pub(super) const FOREIGN_COLOUR_PAGES: Metric = cost(
    "foreign_colour_pages",
    "base pages",
    "With --memory: pages that got any colour, because no frame of their owner's share was free. \
     Absent if the policy places pages without regard to colours.",
    Optional(|result| result.memory.as_ref()?.foreign_colour_pages),
);

pub(super) const SCATTERED_SUPERPAGES: Metric = fact(
    "scattered_superpages",
    "superpages",
    "With --memory: superpages that were made in a share of several physical superpages. Absent \
     if the policy makes none.",
    Optional(|result| result.memory.as_ref()?.scattered_superpages),
);

pub(super) const FRAMES_BESIDE_SCATTERED: Metric = cost(
    "frames_beside_scattered",
    "base pages",
    "With --memory: free frames at the end in physical superpages that scattered superpages use in \
     part, so that no ordinary superpage fits. Absent if the policy makes no scattered superpages.",
    Optional(|result| result.memory.as_ref()?.frames_beside_scattered),
);
