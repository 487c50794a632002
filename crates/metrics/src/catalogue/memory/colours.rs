//! Colours of pages.

use crate::metric::MetricFigure::Optional;
use crate::metric::{Metric, cost};

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
