//! The BLAKE3 hash of a file of which each machine reads a part.
//!
//! BLAKE3 is a tree over pieces of 1 KiB. The values of subtrees over the parts of a file give the
//! hash of the file, so no machine reads the whole file.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, max_subtree_len, merge_subtrees_non_root,
    merge_subtrees_root,
};

/// The bytes of a leaf of the tree.
const LEAF: u64 = blake3::CHUNK_LEN as u64;
/// The bytes that are read at a time.
const READ_BYTES: usize = 1 << 16;

/// The values of the largest subtrees that together cover a part of a file, in order.
pub(crate) type SubtreeValues = Vec<ChainingValue>;

/// The leaves of a part of a file of `size` bytes. A leaf belongs to the part that has its last
/// byte. Only the last part ends with the file, and it is not empty.
fn leaves(size: u64, part: &Range<u64>) -> Range<u64> {
    let down = |byte: u64| byte / LEAF * LEAF;
    let end = match part.end == size {
        true => size,
        false => down(part.end),
    };
    down(part.start)..end
}

/// The end of the largest subtree that begins at `at` and ends within `leaves`. It is not the
/// whole tree, unless that is one leaf.
fn subtree_end(size: u64, leaves: &Range<u64>, at: u64) -> u64 {
    if size <= LEAF {
        return size;
    }
    let largest = left_subtree_len(size);
    let mut length = max_subtree_len(at).map_or(largest, |most| most.min(largest));
    while length > LEAF && at + length > leaves.end {
        length /= 2;
    }
    (at + length).min(leaves.end)
}

/// The hash of a file of `size` bytes, which is at most [`i64::MAX`], from the values of its parts
/// in order. `None` if these are not the values of all parts, each once.
pub(super) fn whole_hash(
    size: u64,
    parts: impl IntoIterator<Item = (Range<u64>, SubtreeValues)>,
) -> Option<blake3::Hash> {
    let mut subtrees = Vec::new();
    let mut next = 0;
    for (part, values) in parts {
        if part.start != next || part.end < next || part.end > size {
            return None;
        }
        next = part.end;
        let leaves = leaves(size, &part);
        let mut at = leaves.start;
        for value in values {
            if at >= leaves.end {
                return None;
            }
            let end = subtree_end(size, &leaves, at);
            subtrees.push((at..end, value));
            at = end;
        }
        if at < leaves.end {
            return None;
        }
    }
    if size <= LEAF {
        return match subtrees[..] {
            [(_, value)] if next == size => Some(blake3::Hash::from_bytes(value)),
            _ => None,
        };
    }
    let mut subtrees = subtrees.into_iter().peekable();
    let left = left_subtree_len(size);
    let values = [0..left, left..size].map(|half| node(&mut subtrees, half));
    match values {
        [Some(left), Some(right)] if subtrees.next().is_none() => {
            Some(merge_subtrees_root(&left, &right, Mode::Hash))
        }
        _ => None,
    }
}

/// The value of the subtree over `range`.
fn node(
    subtrees: &mut std::iter::Peekable<impl Iterator<Item = (Range<u64>, ChainingValue)>>,
    range: Range<u64>,
) -> Option<ChainingValue> {
    if subtrees.peek()?.0 == range {
        return subtrees.next().map(|(_, value)| value);
    }
    let length = range.end - range.start;
    if length <= LEAF {
        return None;
    }
    let middle = range.start + left_subtree_len(length);
    let left = node(subtrees, range.start..middle)?;
    let right = node(subtrees, middle..range.end)?;
    Some(merge_subtrees_non_root(&left, &right, Mode::Hash))
}

/// A reader of a file that hashes the bytes of a part, in their order, whatever else is read.
pub(crate) struct HashedRange<R> {
    from: R,
    /// The file offset of the next byte to read.
    at: u64,
    size: u64,
    leaves: Range<u64>,
    /// The file offset of the next byte to hash.
    next: u64,
    subtree_end: u64,
    hasher: blake3::Hasher,
    values: SubtreeValues,
}

impl<R: Read + Seek> HashedRange<R> {
    /// A reader of a file of `size` bytes, of which the bytes of `part` are hashed.
    pub(crate) fn new(from: R, size: u64, part: Range<u64>) -> Self {
        let leaves = leaves(size, &part);
        let mut reader = Self {
            from,
            at: 0,
            size,
            next: leaves.start,
            subtree_end: leaves.start,
            leaves,
            hasher: blake3::Hasher::new(),
            values: SubtreeValues::new(),
        };
        reader.begin_subtree();
        reader
    }

    /// Reads and hashes the bytes up to the part, which end the leaf before. Then reads go on at
    /// any offset.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn read_start(&mut self, part: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(self.leaves.start))?;
        let start = part.saturating_sub(self.leaves.start);
        io::copy(&mut (&mut *self).take(start), &mut io::sink())?;
        Ok(())
    }

    /// Returns the values of the part's subtrees.
    ///
    /// # Errors
    /// If reading fails, or if the file is shorter than it was.
    pub(crate) fn finish(&mut self) -> io::Result<SubtreeValues> {
        self.seek(SeekFrom::Start(self.next))?;
        let mut bytes = vec![0; READ_BYTES];
        while self.next < self.leaves.end {
            if self.read(&mut bytes)? == 0 {
                return Err(io::Error::other("it became shorter while it was read"));
            }
        }
        Ok(std::mem::take(&mut self.values))
    }

    fn begin_subtree(&mut self) {
        if self.next < self.leaves.end {
            self.hasher = blake3::Hasher::new();
            self.hasher.set_input_offset(self.next);
            self.subtree_end = subtree_end(self.size, &self.leaves, self.next);
        }
    }

    /// Hashes the bytes of the part among `bytes`, which were read at `at`, if they come next.
    fn hash(&mut self, at: u64, bytes: &[u8]) {
        let Some(known) = self.next.checked_sub(at) else {
            return;
        };
        let mut bytes = bytes.get(known as usize..).unwrap_or_default();
        while !bytes.is_empty() && self.next < self.leaves.end {
            let left = self.subtree_end - self.next;
            let (now, later) = bytes.split_at(bytes.len().min(left as usize));
            self.hasher.update(now);
            self.next += now.len() as u64;
            bytes = later;
            if self.next == self.subtree_end {
                self.values.push(match self.size <= LEAF {
                    true => *self.hasher.finalize().as_bytes(),
                    false => self.hasher.finalize_non_root(),
                });
                self.begin_subtree();
            }
        }
    }
}

impl<R: Read + Seek> Read for HashedRange<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.hash(self.at, &into[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Read + Seek> Seek for HashedRange<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.from.seek(to)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_trace::synth::SplitMix64;
    use std::io::Cursor;

    /// Parts of any lengths give the hash of the file, also if other bytes are read in between.
    #[test]
    fn parts_give_the_hash_of_the_file() {
        let mut random = SplitMix64::new(7);
        let all: Vec<u8> = (0..70_000).map(|_| random.below(256) as u8).collect();
        let sizes = [
            1, 5, 1023, 1024, 1025, 2048, 2049, 4096, 8191, 65_536, 65_537, 70_000,
        ];
        for size in sizes {
            let bytes = &all[..size];
            for parts in [1, 2, 3, 4, 5, 17] {
                let mut borders: Vec<u64> = (1..parts).map(|_| random.below(size as u64)).collect();
                borders.extend([0, size as u64]);
                borders.sort_unstable();
                let ranges = borders.windows(2).map(|pair| pair[0]..pair[1]);
                let values: Vec<_> = ranges
                    .map(|part| {
                        let file = Cursor::new(bytes);
                        let mut reader = HashedRange::new(file, size as u64, part.clone());
                        reader.read_start(part.start).expect("bytes");
                        for _ in 0..3 {
                            let elsewhere = random.below(size as u64);
                            reader.seek(SeekFrom::Start(elsewhere)).expect("a place");
                            let mut some = vec![0; random.below(4000) as usize];
                            let _ = reader.read(&mut some).expect("bytes");
                        }
                        (part, reader.finish().expect("bytes"))
                    })
                    .collect();
                let hash = whole_hash(size as u64, values.clone());
                assert_eq!(hash, Some(blake3::hash(bytes)), "{size} in {borders:?}");
                let without_last = values[..values.len() - 1].to_vec();
                assert_eq!(whole_hash(size as u64, without_last), None);
            }
        }
    }

    /// Values that are not of the file's parts give no hash, whatever their ranges.
    #[test]
    fn gaps_overlaps_and_values_too_many_give_no_hash() {
        let bytes = [7; 5000];
        let values_of = |size: u64, part: Range<u64>| {
            let mut reader = HashedRange::new(Cursor::new(&bytes[..size as usize]), size, part);
            reader.read_start(reader.leaves.start).expect("bytes");
            reader.finish().expect("bytes")
        };
        for size in [700u64, 5000] {
            let middle = size / 2;
            let [left, right] = [0..middle, middle..size].map(|part| {
                let values = values_of(size, part.clone());
                (part, values)
            });
            let hash = |parts: &[(Range<u64>, SubtreeValues)]| whole_hash(size, parts.to_vec());
            let whole = Some(blake3::hash(&bytes[..size as usize]));
            assert_eq!(hash(&[left.clone(), right.clone()]), whole);
            let moved = |(_, values): &(Range<u64>, SubtreeValues), start: u64, end: u64| {
                let part = start..end;
                (part, values.clone())
            };
            let mut more = right.clone();
            more.1.push([1; 32]);
            let mut more_left = left.clone();
            more_left.1.push([1; 32]);
            let mut fewer = right.clone();
            fewer.1.pop();
            let wrong = [
                vec![],
                vec![left.clone()],
                vec![right.clone()],
                vec![right.clone(), left.clone()],
                vec![left.clone(), left.clone(), right.clone()],
                vec![left.clone(), right.clone(), right.clone()],
                vec![left.clone(), more],
                vec![more_left, right.clone()],
                vec![left.clone(), fewer],
                vec![left.clone(), moved(&right, middle + 1, size)],
                vec![left.clone(), moved(&right, middle - 1, size)],
                vec![left.clone(), moved(&right, middle, size - 1)],
                vec![left.clone(), moved(&right, middle, size + 1)],
                vec![left.clone(), moved(&right, middle, u64::MAX)],
                vec![left.clone(), moved(&right, u64::MAX, u64::MAX)],
                vec![left.clone(), moved(&right, size, middle)],
                vec![left.clone(), right.clone(), moved(&right, size, size)],
            ];
            for (number, parts) in wrong.iter().enumerate() {
                assert_eq!(hash(parts), None, "{size}, {number}");
            }
        }
    }
}
