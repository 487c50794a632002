//! The policies, one family in each file.

pub(crate) mod advice;
pub(crate) mod asap;
pub(crate) mod base_pages;
pub(crate) mod dirty;
mod filled;
pub(crate) mod fixed;
pub(crate) mod foresight;
pub(crate) mod freebsd;
pub(crate) mod freebsd14;
pub(crate) mod hawkeye;
pub(crate) mod ingens;
pub(crate) mod life;
pub(crate) mod linux;
pub(crate) mod navarro;
pub(crate) mod offline;
pub(crate) mod online;
pub(crate) mod population;
pub(crate) mod thp_always;
pub(crate) mod two_stage;

#[cfg(test)]
pub(crate) mod testing;
