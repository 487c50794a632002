//! One file for each command, and what they share about names.

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod costs;
pub(crate) mod demo;
pub(crate) mod explain;
mod expressions;
mod formats;
pub(crate) mod govern;
pub(crate) mod import;
mod in_file;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod man;
mod manual;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod offered;
pub(crate) mod paper;
mod policies_file;
pub(crate) mod record;
pub(crate) mod reduce;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod service;
mod shortage;
pub(crate) mod top;
