//! Page walks by the size of the page that they find.

use broadleaf_units::PageSize;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// The beginning of the name of each field. The short name of the size follows.
const FIELD: &str = "walks_";

/// The number of walks by the size of the page that they find. If the TLB holds no such pages and
/// they are not fractured, by the size that the TLB loads instead. Serialises as one field
/// for each size: always `walks_4k` and `walks_2m`, and `walks_<size>` for other sizes.
#[derive(Clone, Debug, Default)]
pub struct Walks(BTreeMap<PageSize, u64>);

impl Walks {
    /// An empty count.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` walks that find a page of `size`.
    pub fn add(&mut self, size: PageSize, count: u64) {
        *self.0.entry(size).or_insert(0) += count;
    }

    /// The number of walks that find a page of `size`.
    pub fn of(&self, size: PageSize) -> u64 {
        self.0.get(&size).copied().unwrap_or(0)
    }

    /// The number of all walks.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The sizes with their counts, smallest size first: always 4 KiB and 2 MiB, and other sizes
    /// found.
    pub fn iter(&self) -> impl Iterator<Item = (PageSize, u64)> + '_ {
        let always = [PageSize::SIZE_4K, PageSize::SIZE_2M];
        let mut sizes: Vec<PageSize> = self.0.keys().copied().chain(always).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(|size| (size, self.of(size)))
    }
}

/// A size without walks counts as a size with zero walks, as in the fields.
impl PartialEq for Walks {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Walks {}

impl Serialize for Walks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (size, count) in self.iter() {
            map.serialize_entry(&format!("{FIELD}{}", size.short_name()), &count)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Walks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsOfWalks)
    }
}

/// Reads the fields of [`Walks`] among those of a whole result.
struct FieldsOfWalks;

impl<'de> Visitor<'de> for FieldsOfWalks {
    type Value = Walks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fields named {FIELD}<size>")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Walks, A::Error> {
        let mut walks = Walks::new();
        while let Some(name) = map.next_key::<String>()? {
            let size = name.strip_prefix(FIELD).and_then(PageSize::from_short_name);
            match size {
                Some(size) => walks.add(size, map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(walks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promised_fields_are_there_even_at_zero() {
        let mut walks = Walks::new();
        assert_eq!(
            serde_json::to_string(&walks).unwrap(),
            r#"{"walks_4k":0,"walks_2m":0}"#
        );
        walks.add(PageSize::from_shift(30).unwrap(), 2);
        walks.add(PageSize::SIZE_4K, 3);
        assert_eq!(
            serde_json::to_string(&walks).unwrap(),
            r#"{"walks_4k":3,"walks_2m":0,"walks_1g":2}"#
        );
        assert_eq!(walks.total(), 5);
        let text = r#"{"walks_4k":3,"walk_cycles":9,"walks_2m":0,"walks_1g":2}"#;
        assert_eq!(serde_json::from_str::<Walks>(text).unwrap(), walks);
    }
}
