//! Tables and pictures of result records.
