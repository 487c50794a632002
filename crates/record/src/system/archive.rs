//! Archives of cpio in the form "newc", which the kernel unpacks one after the other.

/// The modes of folders, of files, and of programs.
const FOLDER: u32 = 0o40755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

/// An archive of one file, with its folders.
pub(super) fn of_file(path: &str, content: &[u8], is_program: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (at, _) in path.match_indices('/') {
        entry(&mut archive, &path[..at], FOLDER, &[]);
    }
    let mode = if is_program { PROGRAM } else { FILE };
    entry(&mut archive, path, mode, content);
    entry(&mut archive, "TRAILER!!!", 0, &[]);
    archive
}

fn entry(to: &mut Vec<u8>, name: &str, mode: u32, content: &[u8]) {
    let number = to.len() as u32 + 1;
    let (bytes, length) = (content.len() as u32, name.len() as u32 + 1);
    to.extend(b"070701");
    for field in [number, mode, 0, 0, 1, 0, bytes, 0, 0, 0, 0, length, 0] {
        to.extend(format!("{field:08X}").bytes());
    }
    to.extend(name.bytes());
    to.push(0);
    pad(to);
    to.extend(content);
    pad(to);
}

fn pad(to: &mut Vec<u8>) {
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_at_multiples_of_four() {
        let archive = of_file("etc/broadleaf/command", b"exec true\n", false);
        let starts = memchr::memmem::find_iter(&archive, b"070701");
        let starts: Vec<usize> = starts.collect();
        assert_eq!(starts.len(), 4, "two folders, the file and the trailer");
        assert!(starts.iter().all(|at| at.is_multiple_of(4)));
        assert!(archive.ends_with(&[0]) && archive.len().is_multiple_of(4));
    }
}
