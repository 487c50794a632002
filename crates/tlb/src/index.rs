//! Index functions: values that map an address to a set.

use broadleaf_units::{PageNumber, PageSize};

/// The lowest address bit that a page number holds.
const BASE_SHIFT: u32 = PageSize::SIZE_4K.shift() as u32;

/// A range of virtual-address bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// The highest bit that is in it.
    pub high: u32,
    /// The lowest bit that is in it.
    pub low: u32,
}

impl BitField {
    /// The number of bits.
    pub const fn width(self) -> u32 {
        self.high - self.low + 1
    }
}

/// The most fields that an index function may combine.
const MOST_FIELDS: usize = 4;

/// The set of an address: one range of its bits, or the exclusive or of several of equal width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFunction {
    fields: Vec<BitField>,
}

impl IndexFunction {
    /// The index of a structure with one set.
    pub const fn none() -> Self {
        Self { fields: Vec::new() }
    }

    /// The exclusive or of these fields.
    ///
    /// # Errors
    /// A sentence, if there are more than four fields, they differ in width, a field is upside down
    /// or reaches past bit 63 or below bit 12.
    pub fn new(fields: Vec<BitField>) -> Result<Self, String> {
        if fields.len() > MOST_FIELDS {
            return Err(format!(
                "an index combines at most {MOST_FIELDS} ranges of bits"
            ));
        }
        for field in &fields {
            if field.high > 63 || field.low < BASE_SHIFT || field.high < field.low {
                return Err(format!(
                    "va[{}:{}] is not a range of address bits from 63 down to {BASE_SHIFT}, the \
                     higher first",
                    field.high, field.low
                ));
            }
            if field.width() != fields[0].width() {
                return Err("the ranges of bits differ in width".to_string());
            }
        }
        Ok(Self { fields })
    }

    /// Reads `va[15:12]`, `va[18:12] ^ va[25:19]`, `va[16]` (one bit) or `none`.
    ///
    /// # Errors
    /// A sentence that describes the error.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self::none());
        }
        let field = |part: &str| {
            let inside = part.trim().strip_prefix("va[")?.strip_suffix(']')?;
            let (high, low) = inside.split_once(':').unwrap_or((inside, inside));
            Some(BitField {
                high: high.trim().parse().ok()?,
                low: low.trim().parse().ok()?,
            })
        };
        let fields: Option<Vec<BitField>> = text.split('^').map(field).collect();
        match fields {
            Some(fields) => Self::new(fields),
            None => Err(format!(
                "{text:?} is not an index; write va[15:12], va[18:12] ^ va[25:19], or none"
            )),
        }
    }

    /// An index whose sets each hold whole sets of this index, and of the other: the bits that both
    /// use. `None` if one of them combines fields, and they differ.
    pub fn common(&self, other: &Self) -> Option<Self> {
        if self == other {
            return Some(self.clone());
        }
        let fields = match (&self.fields[..], &other.fields[..]) {
            ([], _) | (_, []) => Vec::new(),
            ([one], [other]) => {
                let high = one.high.min(other.high);
                let low = one.low.max(other.low);
                let common = (low <= high).then_some(BitField { high, low });
                common.into_iter().collect()
            }
            _ => return None,
        };
        Some(Self { fields })
    }

    /// The number of sets.
    pub fn sets(&self) -> u64 {
        match self.fields.first() {
            Some(field) => 1u64.checked_shl(field.width()).unwrap_or(u64::MAX),
            None => 1,
        }
    }

    /// The lowest address bit that the function uses. `None` if it uses none.
    pub fn lowest_bit(&self) -> Option<u32> {
        self.fields.iter().map(|field| field.low).min()
    }

    /// The set of the base page that an address lies in.
    pub fn set_of(&self, page: PageNumber) -> usize {
        self.compile().set_of(page)
    }

    /// The function in the form that a lookup evaluates.
    pub fn compile(&self) -> Compiled {
        let mut fields = [(0, 0); MOST_FIELDS];
        for (slot, field) in fields.iter_mut().zip(&self.fields) {
            *slot = (
                field.low - BASE_SHIFT,
                (u64::MAX >> (64 - field.width())) as usize,
            );
        }
        let [first, others @ ..] = fields;
        Compiled {
            first,
            others,
            has_others: self.fields.len() > 1,
        }
    }
}

impl std::fmt::Display for IndexFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.fields.is_empty() {
            return f.write_str("none");
        }
        for (at, field) in self.fields.iter().enumerate() {
            let separator = if at == 0 { "" } else { " ^ " };
            write!(f, "{separator}va[{}:{}]", field.high, field.low)?;
        }
        Ok(())
    }
}

/// An index function as shifts and masks. Fields that are missing have an empty mask. Most
/// functions have one field.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compiled {
    first: (u32, usize),
    others: [(u32, usize); MOST_FIELDS - 1],
    has_others: bool,
}

impl Compiled {
    /// The number of the set of a base page.
    #[inline]
    pub fn set_of(&self, page: PageNumber) -> usize {
        let field = |(shift, mask): (u32, usize)| (page.0 >> shift) as usize & mask;
        let set = field(self.first);
        if !self.has_others {
            return set;
        }
        let [a, b, c] = self.others;
        set ^ field(a) ^ field(b) ^ field(c)
    }

    /// An index function without a branch, for `FIELDS` fields; `None` if there are more.
    pub fn of_fields<const FIELDS: usize>(&self) -> Option<FewFields<FIELDS>> {
        let [a, b, c] = self.others;
        let all = [self.first, a, b, c];
        let (few, others) = all.split_at_checked(FIELDS)?;
        let fields = FewFields(few.try_into().ok()?);
        others.iter().all(|(_, mask)| *mask == 0).then_some(fields)
    }
}

/// An index function of few ranges of bits, with a shift and a mask for each.
#[derive(Clone, Copy, Debug)]
pub struct FewFields<const FIELDS: usize>([(u32, usize); FIELDS]);

impl<const FIELDS: usize> FewFields<FIELDS> {
    /// The number of the set of a base page.
    #[inline(always)]
    pub fn set_of(&self, page: PageNumber) -> usize {
        // An iterator of the fields would stay a loop in the hot path.
        let (mut set, mut field) = (0, 0);
        while field < FIELDS {
            let (shift, mask) = self.0[field];
            set ^= (page.0 >> shift) as usize & mask;
            field += 1;
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(index: &str, address: u64) -> usize {
        IndexFunction::parse(index)
            .unwrap()
            .set_of(PageNumber(address >> 12))
    }

    #[test]
    fn ranges_and_exclusive_or() {
        assert_eq!(set("va[15:12]", 0xffff_0000_5000), 5);
        assert_eq!(set("va[24:22]", 7 << 21), 3);
        assert_eq!(set("va[16]", 1 << 16), 1);
        assert_eq!(set("va[16] ^ va[20:20]", 1 << 16 | 1 << 20), 0);
        assert_eq!(
            IndexFunction::parse("va[16]"),
            IndexFunction::parse("va[16:16]")
        );
        assert_eq!(
            set("va[18:12] ^ va[25:19]", (0x55 << 12) | (0x0f << 19)),
            0x5a
        );
        assert_eq!(set("none", u64::MAX), 0);
    }

    #[test]
    fn pages_of_one_set_are_in_one_common_set() {
        let parse = |text| IndexFunction::parse(text).expect("an index");
        let cases = [
            ("va[15:12]", "va[15:12]", Some("va[15:12]")),
            ("va[24:22]", "va[23:21]", Some("va[23:22]")),
            ("va[15:12]", "va[13:12]", Some("va[13:12]")),
            ("va[15:12]", "va[20:16]", Some("none")),
            ("va[15:12]", "none", Some("none")),
            ("va[15:12] ^ va[19:16]", "va[15:12]", None),
        ];
        for (one, other, common) in cases {
            let found = parse(one).common(&parse(other));
            assert_eq!(found, common.map(parse), "{one}, {other}");
            assert_eq!(found, parse(other).common(&parse(one)));
        }
    }

    #[test]
    fn written_as_read() {
        for text in ["va[15:12]", "va[18:12] ^ va[25:19]", "none"] {
            assert_eq!(IndexFunction::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            IndexFunction::parse("va[18:12]^va[25:19]").unwrap().sets(),
            128
        );
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "va",
            "va[]",
            "va[12:15]",
            "va[64:12]",
            "va[15:11]",
            "va[15:12] ^ va[20:16]",
            "va[x:12]",
            "va[15:12] ^",
            "va[12:12] ^ va[13:13] ^ va[14:14] ^ va[15:15] ^ va[16:16]",
        ] {
            assert!(IndexFunction::parse(text).is_err(), "{text}");
        }
    }
}
