//! Conditions of memory: the grid of a `[memory]` table.

use std::path::{Path, PathBuf};

use broadleaf_model::Files;
use toml::de::DeTable;

use super::keys::KeyTable;
use super::values::{PlacedText, check_keys, list};
use crate::costs::costs;
use crate::failure::Failure;
use crate::in_file::InFile;
use crate::memory::{MemoryRequest, allocator, part, rate, swap};

/// The maximum number of seeds of a range.
const MOST_SEEDS: u64 = 1_000_000;

/// One condition of memory: the keys of its table with one value each.
#[derive(Clone, Debug)]
pub struct MemoryCondition {
    /// The keys that were set, with their values as text.
    pub fields: Vec<(String, String)>,
    /// The request for a comparison.
    pub(super) request: MemoryRequest,
    /// The files that memory begins from.
    pub(super) files: Vec<PathBuf>,
}

/// The conditions of a table, as a grid. `None` is memory without frames, which a table without
/// keys means.
pub(super) fn conditions(
    file: &InFile<'_>,
    table: &DeTable<'_>,
    folder: &Path,
) -> Result<Vec<Option<MemoryCondition>>, Failure> {
    check_keys(file, table, KeyTable::Memory)?;
    if table.is_empty() {
        return Ok(vec![None]);
    }
    let mut usual = MemoryRequest::unlimited();
    usual.memory = None;
    let mut grid = vec![MemoryCondition {
        fields: Vec::new(),
        request: usual,
        files: Vec::new(),
    }];
    // The catalogue's order, so that equal tables have equal grids.
    for name in KeyTable::Memory.names() {
        let Some(value) = table.get(name) else {
            continue;
        };
        let values = list(file, value)?;
        let values = match name {
            "seed" => seeds(file, values)?,
            _ => values,
        };
        let mut next = Vec::new();
        for condition in &grid {
            for value in &values {
                let mut condition = condition.clone();
                let set = condition.set(name, &value.text, folder);
                set.map_err(|error| file.wrong(value.at.clone(), &error))?;
                next.push(condition);
            }
        }
        grid = next;
    }
    let first = grid.first().map(|condition| &condition.request);
    if first.is_none_or(|request| request.memory.is_none() && request.pagetypeinfo.is_none()) {
        let at = table.keys().map(|key| key.span()).min_by_key(|at| at.start);
        let message = "this memory has no size: add size, such as size = \"75%\"";
        return Err(file.wrong(at.unwrap_or(0..0), message));
    }
    Ok(grid.into_iter().map(Some).collect())
}

/// The seeds of a list whose texts may be ranges.
fn seeds(file: &InFile<'_>, values: Vec<PlacedText>) -> Result<Vec<PlacedText>, Failure> {
    let mut seeds = Vec::new();
    for value in values {
        let Some((first, last)) = value.text.split_once("..") else {
            seeds.push(value);
            continue;
        };
        let ends = (first.trim().parse::<u64>(), last.trim().parse::<u64>());
        let (Ok(first), Ok(last)) = ends else {
            return Err(file.wrong(value.at, "a range of seeds is written \"1..5\""));
        };
        if last < first || last - first >= MOST_SEEDS {
            return Err(file.wrong(value.at, "a range has from 1 to 1000000 seeds"));
        }
        seeds.extend((first..=last).map(|seed| PlacedText {
            text: seed.to_string(),
            at: value.at.clone(),
        }));
    }
    Ok(seeds)
}

impl MemoryCondition {
    fn set(&mut self, name: &str, text: &str, folder: &Path) -> Result<(), String> {
        let request = &mut self.request;
        let flag = || match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("this has to be true or false".to_owned()),
        };
        match name {
            "size" => request.memory = Some(text.parse()?),
            "occupied" => request.occupied = part(text)?,
            "fragmentation" => request.fragmentation = Some(part(text)?),
            "movable" => request.movable = part(text)?,
            "seed" => {
                let seed = text.parse();
                request.seed = seed.map_err(|_| "a seed is a whole number".to_owned())?;
            }
            "swap" => request.swap = Some(swap(text)?),
            "code" => request.code = flag()?,
            "files" => {
                request.files = match text {
                    "disk" => Files::OnDisk,
                    "memory" => Files::InMemory,
                    _ => return Err("files are on the disk or in memory: disk, memory".to_owned()),
                }
            }
            "allocator" => request.allocator = allocator(text)?,
            "pools" => request.pools = Some(part(text)?),
            "rate" => request.rate = rate(text)?,
            "costs" => request.costs = Some(costs(text).map_err(|error| error.to_string())?),
            "pagetypeinfo" => {
                let path = folder.join(text);
                self.files.push(path.clone());
                request.pagetypeinfo = Some(path);
            }
            "buddyinfo" => {
                let path = folder.join(text);
                self.files.push(path.clone());
                request.buddyinfo = Some(path);
            }
            other => return Err(format!("no condition of memory is called {other:?}")),
        }
        self.fields.push((name.to_owned(), text.to_owned()));
        Ok(())
    }
}
