//! Names for addresses: functions, source lines and variables of programs and libraries.

mod jit;
mod object_file;
mod variables;

pub(crate) use jit::JitSymbols;
pub use object_file::{ObjectFile, StaticVariable};

/// Removes the mangling of a C++ or Rust name. Returns other names as they are.
fn demangled(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    addr2line::demangle_auto(name, None).into_owned()
}
