//! `coloured`: base pages in frames of their owner's colours.

use crate::parameter::GivenParameters;
use crate::{
    ColourOrder, ColourOwner, ColourRule, Needs, Parameter, Placement, Point, Policy, PolicyEntry,
    Verdict, View,
};
use alloc::boxed::Box;
use alloc::string::String;
use broadleaf_units::{PageSize, SizeSet, WantedShares};

/// A quarter of the cache for each of four owners.
const QUARTERS: WantedShares = match WantedShares::new(&[4, 4, 4, 4]) {
    Ok(shares) => shares,
    Err(_) => panic!("four owners fit"),
};

/// The sizes of a way, the default first: that of a cache of 4 MiB with 16 ways.
const WAYS: &[&str] = &["256k", "64k", "128k", "512k", "1m", "2m"];

/// The parameter `shares`: how much of the cache each owner has.
pub(super) const SHARES: Parameter = Parameter::shares(
    "shares",
    QUARTERS,
    "The share of the cache that each owner has. While the shares exceed the cache, the largest \
     is halved. More owners begin again with the first share.",
);

/// The parameter `by`: who owns a share.
pub(super) const BY: Parameter = Parameter::word(
    "by",
    &["process", "core", "region"],
    "process",
    "The owners of shares, numbered by their first fault: processes, cores (the trace has to say \
     which core runs), or regions of 2 MiB.",
);

/// The parameter `way`: the size of a way of the last-level cache.
pub(super) const WAY: Parameter = Parameter::word(
    "way",
    WAYS,
    WAYS[0],
    "The size of a way of the last-level cache: its size divided by its ways. It has a page of \
     each colour.",
);

/// The parameter `order`: the colours of an owner's pages.
pub(super) const ORDER: Parameter = Parameter::word(
    "order",
    &["page", "round-robin", "bin-hopping"],
    "page",
    "The order of an owner's colours: by the number of the page, in turn over all owners, or in \
     turn for each owner.",
);

/// The rule of placement that the parameters describe.
pub(super) fn colour_rule(given: &GivenParameters) -> ColourRule {
    let way = PageSize::from_short_name(given.word("way"));
    ColourRule {
        way: way.unwrap_or(PageSize::SIZE_2M),
        shares: given.shares("shares").unwrap_or(QUARTERS),
        owner: match given.word("by") {
            "core" => ColourOwner::Core,
            "region" => ColourOwner::Region,
            _ => ColourOwner::Process,
        },
        order: match given.word("order") {
            "round-robin" => ColourOrder::RoundRobin,
            "bin-hopping" => ColourOrder::BinHopping,
            _ => ColourOrder::ByPage,
        },
        scatters: false,
    }
}

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "coloured",
    syntax: "coloured(...)",
    summary: "use base pages, in frames whose cache sets belong to the page's owner",
    explanation: "Each page gets a free frame of a colour of its owner: page colouring. The \
                  owners share the colours of the last-level cache, so that no owner evicts \
                  another owner's lines. If no frame of the colour is free, the page gets another \
                  colour of its owner, and then any frame; results count both. Nothing is \
                  promoted. The baseline is fixed-4k, which places pages without regard to \
                  colours.",
    source: "Chen 2014, sections I and V (Page Coloring); Kessler and Hill 1992 (page coloring \
             and bin hopping)",
    parameters: &[SHARES, BY, ORDER, WAY],
    examples: &[
        "coloured",
        "coloured(shares=1/4+1/2+1/8+1/8)",
        "coloured(order=bin-hopping)",
    ],
    by_default: false,
    build: |given| Box::new(Coloured { given }),
};

struct Coloured {
    given: GivenParameters,
}

impl Policy for Coloured {
    fn name(&self) -> String {
        self.given.name()
    }

    fn needs(&self) -> Needs {
        Needs {
            placement: Placement::AtFault,
            sizes: SizeSet::These(0),
            colours: Some(colour_rule(&self.given)),
            ..Needs::default()
        }
    }

    fn decide(&self, _: Point, _: &View) -> Verdict {
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn rule(name: &str) -> ColourRule {
        parse(name).unwrap().needs().colours.unwrap()
    }

    #[test]
    fn parameters_make_the_rule() {
        let usual = rule("coloured");
        assert_eq!(usual.way.bytes(), 256 << 10);
        assert_eq!(usual.shares, QUARTERS);
        assert_eq!(
            (usual.owner, usual.order),
            (ColourOwner::Process, ColourOrder::ByPage)
        );
        let other = rule("coloured(shares=1/2,by=core,order=bin-hopping,way=2m)");
        assert_eq!(other.way, PageSize::SIZE_2M);
        assert!(other.shares.divisors().eq([2]));
        assert_eq!(
            (other.owner, other.order),
            (ColourOwner::Core, ColourOrder::BinHopping)
        );
        let region = rule("coloured(by=region,order=round-robin)");
        assert_eq!(
            (region.owner, region.order),
            (ColourOwner::Region, ColourOrder::RoundRobin)
        );
        for way in WAYS {
            let size = PageSize::from_short_name(way).unwrap();
            assert_eq!(rule(&alloc::format!("coloured(way={way})")).way, size);
        }
    }

    #[test]
    fn nothing_is_promoted() {
        let policy = parse("coloured").unwrap();
        for point in Point::ALL {
            assert_eq!(policy.decide(*point, &View::BLANK), Verdict::Pass);
        }
        assert!(policy.needs().needs_frames());
    }
}
