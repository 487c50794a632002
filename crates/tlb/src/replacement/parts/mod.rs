//! Parts of replacement rules. Each rule is a file of the folder above.

pub(super) mod ages;
pub(super) mod mersenne;
pub(super) mod tree;
pub(super) mod used_bits;
