//! One file for each command.

pub(crate) mod advise;
pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod govern;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod man;
mod manual;
pub(crate) mod offered;
pub(crate) mod paper;
pub(crate) mod probe;
pub(crate) mod recode;
pub(crate) mod record;
pub(crate) mod reduce;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod service;
pub(crate) mod tables;
pub(crate) mod together;
pub(crate) mod top;
pub(crate) mod trap;
pub(crate) mod validate;
