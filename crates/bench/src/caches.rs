//! The machine of benchmarks with caches.

use crate::Failed;
use broadleaf_machine::{Machine, machine_text};

/// Skylake's TLBs with its client caches (Intel 248966-045, table 2-12) and four cores' worth of
/// shared cache.
///
/// # Errors
/// Returns an error if the description is wrong.
pub fn three_levels() -> Result<Machine, Failed> {
    let skylake = machine_text("skylake")?;
    let cache = |level: u64, size: &str, ways: u64, latency: u64| {
        format!(
            "[[cache]]\nname = \"L{level}\"\nlevel = {level}\nsize = \"{size}\"\nways = {ways}\n\
             line = 64\nlatency = {latency}\nreplacement = \"lru\"\n"
        )
    };
    let levels = [
        cache(1, "32K", 8, 4),
        cache(2, "256K", 4, 12),
        cache(3, "8M", 16, 44),
    ];
    let rest = "[main-memory]\nlatency = 200\nbanks = 64\nbank-cycles = 40\n\
                [core]\nwidth = 4\nwindow = 224\nwalkers = 2\n";
    let (top, tables) = skylake.split_once("[[tlb]]").ok_or("no TLB")?;
    let kind = "caches = \"non-inclusive\"\n";
    let text = [top, kind, "[[tlb]]", tables, &levels.concat(), rest].concat();
    Ok(Machine::from_toml(&text)?)
}
