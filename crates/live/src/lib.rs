//! Live Linux: what a policy would do to running processes, and running them under a policy.
//!
//! [`govern`] starts a program under a policy, or attaches to processes. [`service`] governs the
//! processes that a file of rules picks. [`tables`] builds page tables for a process. [`survey`]
//! looks at processes once, and [`top`] again and again. [`validate`] compares predictions with
//! measurements. [`relatives`] finds the processes around this one. [`passed_on`] passes signals on
//! to a program, and [`same_end`] ends a command as its program ended.
//!
//! Requests go in, and outcomes come back as values. The crate knows no command line and no
//! terminal. The `log` crate receives notes, [`broadleaf_study::watch::Watch`] receives progress,
//! and the caller decides what signals mean.
#![forbid(unsafe_code)]
#![deny(clippy::missing_errors_doc)]

pub mod govern;
mod obstacles;
pub mod page;
pub mod passed_on;
pub mod relatives;
pub mod same_end;
pub mod service;
pub mod survey;
pub mod tables;
pub mod top;
mod use_of_blocks;
mod users;
pub mod validate;
