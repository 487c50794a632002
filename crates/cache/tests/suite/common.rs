//! Small hierarchies.

use broadleaf_cache::{
    AccessKind, CacheAnswer, CacheHierarchy, CacheKind, CacheRequest, CacheSpec, HierarchySpec,
    LineReplacement, LineReplacementChoice, MainMemorySpec,
};

/// A memory of 100 cycles without banks.
pub(crate) const MEMORY: MainMemorySpec = MainMemorySpec {
    latency: 100,
    banks: 0,
    bank_cycles: 0,
};

/// A cache of a level with exact LRU. A lookup takes as many cycles as the level's square.
pub(crate) fn cache(level: usize, sets: u64, ways: usize) -> CacheSpec {
    CacheSpec {
        name: format!("L{level}"),
        level,
        instructions: None,
        bytes: sets * ways as u64 * 64,
        ways,
        latency: (level * level) as u64,
        replacement: LineReplacement::lru(),
        prefetch: None,
    }
}

/// A hierarchy of a kind with lines of 64 bytes.
pub(crate) fn hierarchy(kind: &str, cores: usize, caches: Vec<CacheSpec>) -> CacheHierarchy {
    let kind = CacheKind::named(kind).expect("a kind");
    let spec = HierarchySpec::new(kind, cores, caches, 64, 1, MEMORY).expect("a hierarchy");
    CacheHierarchy::new(&spec).expect("caches")
}

/// The rule of that name, with its defaults.
pub(crate) fn rule(name: &str) -> LineReplacementChoice {
    LineReplacement::named(name).expect("a rule").into()
}

/// Accesses a line.
pub(crate) fn access(
    caches: &mut CacheHierarchy,
    core: usize,
    line: u64,
    kind: AccessKind,
) -> CacheAnswer {
    caches.access(&CacheRequest {
        core,
        address: line * 64,
        kind,
        time: 0,
    })
}
