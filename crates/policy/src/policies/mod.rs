//! The policies, one family in each file.

pub(crate) mod base_pages;
pub(crate) mod dirty;
pub(crate) mod foresight;
pub(crate) mod freebsd;
pub(crate) mod life;
pub(crate) mod population;
pub(crate) mod thp_always;

#[cfg(test)]
pub(crate) mod testing;
