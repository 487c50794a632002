//! The last level of caches and the main memory that a program gets of a computer.

use crate::MachineCaches;
use broadleaf_cache::{HierarchySpec, MainMemorySpec};

/// The last level of caches and the main memory, as one program sees them. Other programs may use
/// both at the same time, so the values are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarMemory {
    /// The bytes of the last level: a multiple of 1 MiB.
    pub last_level_bytes: u64,
    /// The cycles of a lookup of the last level.
    pub last_level_cycles: u64,
    /// The cycles of a read of main memory.
    pub memory_cycles: u64,
}

impl MachineCaches {
    /// The same caches with another last level and another main memory.
    ///
    /// # Errors
    /// A sentence, if no such cache can be described.
    pub fn with_far_memory(&self, far: &FarMemory) -> Result<Self, String> {
        let spec = &self.hierarchy;
        let mut caches = spec.caches().to_vec();
        let last = spec.levels();
        for cache in caches.iter_mut().filter(|cache| cache.level == last) {
            // Ways of a power of two of bytes: as few as there can be.
            let way = 1 << far.last_level_bytes.trailing_zeros();
            let way = [way, way / 2, way / 4, way / 8, way / 16].into_iter();
            let mut ways = way.map(|bytes| far.last_level_bytes / bytes);
            cache.ways = ways.find(|ways| *ways >= 8).unwrap_or(16) as usize;
            cache.bytes = far.last_level_bytes;
            cache.latency = far.last_level_cycles;
        }
        let memory = MainMemorySpec {
            latency: far.memory_cycles,
            ..spec.memory()
        };
        let line = 1 << spec.line_shift();
        let walks = spec.walk_level() + 1;
        let made = HierarchySpec::new(spec.kind(), spec.cores(), caches, line, walks, memory);
        Ok(Self {
            hierarchy: made.map_err(|error| error.message)?,
            core: self.core,
        })
    }
}
