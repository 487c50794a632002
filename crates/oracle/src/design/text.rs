//! Structures as the oracle has them, written as `[[tlb]]` tables.

use super::{
    SlowBlocks, SlowCheck, SlowFills, SlowForm, SlowFrames, SlowModified, SlowProbes,
    SlowReference, SlowStructure, SlowValid,
};
use crate::RuleSpec;

/// The short name of a size in pages of 4 KiB.
fn size_name(pages: u64) -> String {
    format!("{}k", 4 * pages)
}

impl SlowStructure {
    /// The `[[tlb]]` table of the structure in a machine's description, without walk entries.
    /// `alternates` is true if the structures of its level take turns.
    pub fn table(&self, name: &str, alternates: bool) -> String {
        table(name, self, alternates)
    }
}

/// The index of pages of which so many have one: the bits of a machine's description.
pub fn index_text(sets: u64, with_one_index: u64) -> String {
    let low = 12 + with_one_index.trailing_zeros();
    match sets {
        1 => "none".to_owned(),
        2 => format!("va[{low}]"),
        _ => format!("va[{}:{low}]", low + sets.trailing_zeros() - 1),
    }
}

fn table(name: &str, of: &SlowStructure, alternates: bool) -> String {
    let (entries, ways) = (of.sets * of.ways, of.ways);
    let serves: Vec<String> = of
        .serves
        .iter()
        .map(|kind| quoted(kind_name(*kind)))
        .collect();
    let index = of.sizes.iter().map(|(size, with_one_index)| {
        let index = index_text(of.sets as u64, *with_one_index);
        format!("{} = \"{index}\"", size_name(*size))
    });
    let index: Vec<String> = index.collect();
    let mut text = format!(
        "[[tlb]]\nname = \"{name}\"\nlevel = {}\nentries = {entries}\nways = {ways}\n\
         index = {{ {} }}\nserves = [{}]\nfills = \"{}\"\nprobes = \"{}\"\n",
        of.level,
        index.join(", "),
        serves.join(", "),
        match of.fills {
            SlowFills::Walks => "walks",
            SlowFills::Victims => "victims",
            SlowFills::Prefetches => "prefetches",
        },
        match of.probes {
            SlowProbes::Parallel => "parallel",
            SlowProbes::LargestFirst => "largest-first",
            SlowProbes::SmallestFirst => "smallest-first",
        },
    );
    text += &format!("inclusive = {}\nalternates = {alternates}\n", of.inclusive);
    text += &format!("wired = {}\n", of.wired * of.sets);
    text += &rule(of.rule);
    text += &match of.form {
        SlowForm::Pages { faults } => pages(of, faults),
        SlowForm::Blocks(blocks) => subblocks(of, &blocks),
    };
    text
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

const fn kind_name(kind: SlowReference) -> &'static str {
    match kind {
        SlowReference::Fetch => "fetches",
        SlowReference::Load => "loads",
        SlowReference::Store => "stores",
    }
}

fn rule(spec: RuleSpec) -> String {
    let (name, parameter) = spec.text();
    let key = parameter.map_or_else(String::new, |(key, value)| format!("{key} = {value}\n"));
    format!("replacement = {}\n{key}", quoted(name))
}

fn pages(of: &SlowStructure, faults: bool) -> String {
    let replicates = of
        .sizes
        .iter()
        .any(|(size, index)| index < size && of.sets > 1);
    format!("replicate = {replicates}\nmodified-faults = {faults}\n")
}

fn subblocks(of: &SlowStructure, blocks: &SlowBlocks) -> String {
    let block = size_name(blocks.subblocks * of.sizes[0].0);
    let head = |name: &str| format!("organisation = \"{name}\"\nblock = \"{block}\"\n");
    if blocks.valid == SlowValid::Whole {
        return head("coalesced");
    }
    let miss = match blocks.page_alone {
        true => "load-page",
        false => "demap",
    };
    let preload = format!("preload = {}\nsubblock-miss = \"{miss}\"\n", blocks.preload);
    if blocks.frames == SlowFrames::Any {
        let superpages = if blocks.own { "own-blocks" } else { "fill" };
        return head("complete-subblock") + &preload + &format!("superpages = \"{superpages}\"\n");
    }
    let check = match blocks.check {
        SlowCheck::Full => "full",
        SlowCheck::FirstTag => "first-tag",
        SlowCheck::Never => "never",
    };
    let modified = match blocks.modified {
        SlowModified::Block => "block",
        SlowModified::Attribute => "attribute",
        SlowModified::Page => "page",
    };
    let valid = if blocks.valid == SlowValid::Run {
        "run"
    } else {
        "vector"
    };
    let frames = match blocks.frames {
        SlowFrames::HighBits => "high-bits",
        SlowFrames::Placed | SlowFrames::Any => "placed",
    };
    let rights = if blocks.shares_rights {
        "shared"
    } else {
        "page"
    };
    head("partial-subblock")
        + &preload
        + &format!(
            "check = \"{check}\"\nmodified = \"{modified}\"\nvalid = \"{valid}\"\n\
             frames = \"{frames}\"\nrights = \"{rights}\"\n"
        )
}
