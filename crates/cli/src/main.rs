//! The `broadleaf` command.

fn main() {}
