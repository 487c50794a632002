//! Parameters of policies that place pages: whose a reservation is, what is read around a fault,
//! and which pages leave (Talluri 1995, section 6.3).

use crate::parameter::GivenParameters;
use crate::{Needs, PageDaemon, Parameter, ReadAround};

/// The pages that follow one of a file on the network and are read with it (Talluri 1995, section
/// 2.7.1).
const NEXT_PAGES: u32 = 8;

pub(super) const OBJECTS: Parameter = Parameter::word(
    "objects",
    &["apart", "shared"],
    "apart",
    "Whose a reservation of a file or of shared memory is: that of each mapping, or the file's, so \
     that the first mapper decides placement for all. A file's first page reserves a block.",
);

pub(super) const COUNTERS: Parameter = Parameter::word(
    "counters",
    &["process", "object"],
    "process",
    "Whose pages count for the share of a file's block: those that the process maps, or those that \
     any process maps. The latter is for objects=shared.",
)
.only_with(&[("objects", "shared"), ("read_around", "yes")]);

pub(super) const READ_AROUND: Parameter = Parameter::word(
    "read_around",
    &["no", "yes"],
    "no",
    "Whether a fault in a file reads pages of the same block in the background: all of them on a \
     local disk, the next eight on the network. Objects are shared then.",
);

pub(super) const VICTIMS: Parameter = Parameter::word(
    "victims",
    &["oldest", "complete"],
    "oldest",
    "Which of the unused pages leaves when memory is short: the oldest, or the one whose block of \
     frames has most free frames.",
);

/// The needs of a policy, with those of the parameters of this file.
pub(super) fn with_objects(given: &GivenParameters, needs: Needs, on_network: bool) -> Needs {
    let reads_around = given.word("read_around") == "yes";
    let by_object = reads_around || given.word("objects") == "shared";
    Needs {
        by_object,
        counts_by_object: by_object && given.word("counters") == "object",
        read_around: match (reads_around, on_network) {
            (false, _) => ReadAround::No,
            (true, true) => ReadAround::Next(NEXT_PAGES),
            (true, false) => ReadAround::Block,
        },
        daemon: match given.word("victims") {
            "complete" => PageDaemon::CompletingBlocks,
            _ => PageDaemon::OldestFirst,
        },
        ..needs
    }
}
