//! The frame of a call stack that names the user's own code.

use broadleaf_trace::SiteFrame;

/// The beginnings of paths of libraries' source files.
const LIBRARY_FOLDERS: [&str; 8] = [
    "/usr/include/",
    "/usr/lib/",
    "/usr/share/",
    "/usr/src/",
    "/build/",
    "/rustc/",
    "./", // the C library of Debian
    "<frozen ",
];
/// Parts of such paths.
const LIBRARY_PARTS: [&str; 9] = [
    "/.cargo/registry/",
    "/.cargo/git/",
    "/.rustup/toolchains/",
    "/library/std/src/",
    "/library/alloc/src/",
    "/library/core/src/",
    "/site-packages/",
    "/dist-packages/",
    "/pkg/mod/",
];
/// The beginnings of names of functions of run-time systems.
const LIBRARY_FUNCTIONS: [&str; 6] = ["runtime.", "java.", "javax.", "jdk.", "sun.", "std::"];
/// The folder of Go's own packages, in the folder of a Go installation.
const GO_SOURCE: &str = "/go/src/";

/// Returns the frame that names the user's code: the innermost frame with a line outside of
/// libraries. If there is none, the innermost one with a name outside of libraries, or else the
/// innermost of all. `frames` has the innermost frame first.
pub(super) fn named_frame(frames: &[SiteFrame]) -> Option<usize> {
    let first = |is_it: &dyn Fn(&SiteFrame) -> bool| frames.iter().position(is_it);
    let has_name = |frame: &SiteFrame| !frame.function.is_empty();
    own_frame(frames)
        .or_else(|| first(&|frame| has_name(frame) && !is_of_library(frame)))
        .or((!frames.is_empty()).then_some(0))
}

/// Returns the innermost frame with a line outside of libraries.
pub(super) fn own_frame(frames: &[SiteFrame]) -> Option<usize> {
    let is_own = |frame: &SiteFrame| frame.line > 0 && !is_of_library(frame);
    frames.iter().position(is_own)
}

fn is_of_library(frame: &SiteFrame) -> bool {
    let file = frame.file.as_str();
    LIBRARY_FOLDERS
        .iter()
        .any(|folder| file.starts_with(folder))
        || LIBRARY_PARTS.iter().any(|part| file.contains(part))
        || LIBRARY_FUNCTIONS
            .iter()
            .any(|name| frame.function.starts_with(name))
        || (file.contains(GO_SOURCE) && is_of_go_itself(&frame.function))
        || (file.contains("/lib/python3") && file.ends_with(".py"))
}

/// Returns true for functions of Go's own packages. The path of a package from elsewhere begins
/// with the name of a host, which has a dot.
fn is_of_go_itself(function: &str) -> bool {
    let host = function.split_once('/').map_or("", |(host, _)| host);
    !function.starts_with("main.") && !host.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32) -> SiteFrame {
        SiteFrame {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
        }
    }

    #[test]
    fn the_innermost_frame_of_the_user_is_named() {
        let vector = "/usr/include/c++/12/bits/new_allocator.h";
        for (frames, named) in [
            (
                vec![
                    frame("allocate", vector, 137),
                    frame("table", "/home/a/t.cc", 9),
                ],
                1,
            ),
            (vec![frame("allocate", vector, 137)], 0),
            (
                vec![frame("", "/lib/x.so", 0), frame("grow", "/lib/x.so", 0)],
                1,
            ),
            (
                vec![
                    frame("runtime.makeslice", "/usr/local/go/src/runtime/slice.go", 1),
                    frame("bytes.grow", "/usr/local/go/src/bytes/buffer.go", 2),
                    frame("main.build", "/home/a/go/src/x/main.go", 3),
                ],
                2,
            ),
            (
                vec![
                    frame("alloc", "/rustc/90b35/library/alloc/src/alloc.rs", 93),
                    frame("hot::table", "src/main.rs", 4),
                ],
                1,
            ),
            (
                vec![
                    frame("copy", "/usr/lib/python3.11/copy.py", 3),
                    frame("deep", "/usr/local/lib/python3.11/copy.py", 3),
                    frame("fill", "/home/a/fill.py", 4),
                ],
                2,
            ),
        ] {
            assert_eq!(named_frame(&frames), Some(named), "{frames:?}");
        }
        assert_eq!(named_frame(&[]), None);
    }
}
