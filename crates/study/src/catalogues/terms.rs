//! Words for `explain`: those of Linux for page sizes, and those of answers.

use broadleaf_report::RULE_IN_FULL;
use broadleaf_units::Described;

/// A word that `explain` knows, with other words for the same thing.
pub(super) struct Term {
    pub(super) described: Described,
    /// Other words for the same thing.
    pub(super) aliases: &'static [&'static str],
}

/// The words, in the order of their use.
pub(super) const TERMS: &[Term] = &[
    Term {
        described: Described {
            name: "huge-page",
            summary: "a page of 2 MiB or another large size: one translation covers what 512 \
                pages of 4 KiB cover",
            explanation: "Linux calls it a huge page; THP (transparent huge pages) is Linux's way \
                to make huge pages without a change of the program. Research and FreeBSD call it \
                a superpage: the tables of Broadleaf use this word. A program with many huge \
                pages misses its TLBs less often, and takes fewer page faults. The price is \
                memory: a huge page is all or nothing. `broadleaf record COMMAND` and \
                `broadleaf compare` show both for a program.",
            source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
        },
        aliases: &["thp", "superpage", "hugepage", "transparent-huge-pages"],
    },
    Term {
        described: Described {
            name: "hugetlb",
            summary: "reserved huge pages: a pool that programs map from, apart from other memory",
            explanation: "The administrator reserves them (`vm.nr_hugepages`), and a program asks \
                for them: by MAP_HUGETLB, a file of hugetlbfs, `glibc.malloc.hugetlb=2`, \
                -XX:+UseLargePages or PostgreSQL's huge_pages=on. Nothing splits or swaps them, \
                so no measurement of Broadleaf has the program without them. Policies decide on \
                THP, which needs no reservation.",
            source: "Linux, Documentation/admin-guide/mm/hugetlbpage.rst",
        },
        aliases: &["hugetlbfs", "reserved-huge-pages"],
    },
    Term {
        described: Described {
            name: "mthp",
            summary: "THP of several sizes: folios of 16 KiB to 1 MiB beside those of 2 MiB",
            explanation: "From Linux 6.8 on, each size has a setting of its own in \
                /sys/kernel/mm/transparent_hugepage/hugepages-SIZEkB/enabled. Smaller huge pages \
                save page faults and waste less memory. They save TLB misses only on processors \
                that hold such translations. The policy linux has them as `sizes`.",
            source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
        },
        aliases: &["large-folio", "multi-size-thp"],
    },
    Term {
        described: Described {
            name: "khugepaged",
            summary: "Linux's daemon that makes huge pages of memory that has 4 KiB pages",
            explanation: "It scans 4,096 pages every 10 seconds, which is 1.6 MB/s, in all \
                processes with memory that may have huge pages. The files in \
                /sys/kernel/mm/transparent_hugepage/khugepaged set its pace and the pages that a \
                block may lack (max_ptes_none). The policy linux has a parameter for each. \
                `broadleaf run` and `broadleaf attach` do the same work at once, for one program, \
                and with a limit on memory.",
            source: "Linux, mm/khugepaged.c",
        },
        aliases: &[],
    },
    Term {
        described: Described {
            name: "rbe",
            summary: "register-bit equivalents: the unit of the chip area of TLBs",
            explanation: "A register bit takes 1, a cell of random-access memory 0.6, and a cell \
                of content-addressable memory 1.2. A comparison with a grid has the area of each \
                TLB, and `broadleaf list tlbs --area` those of all machines. The book's page on \
                prices has the formulas and the bits of each kind of entry.",
            source: "Mulder, Quach and Flynn 1991; Talluri 1995, section 2.2",
        },
        aliases: &["area", "register-bit-equivalent", "chip-area"],
    },
    Term {
        described: Described {
            name: "native",
            summary: "as a machine: the one that `broadleaf probe` measured on this computer, or \
                those that fit its processor",
            explanation: "`broadleaf probe` measures the TLBs of this computer and writes a file. \
                `--machine native` means the machine of that file on the processor that was \
                measured. Without a file, it means the built-in machines whose processors are \
                those of this computer: nothing was measured then. A note names the choice.",
            source: "docs/book/src/machines.md",
        },
        aliases: &[],
    },
    Term {
        described: Described {
            name: "rule",
            summary: "how `compare` chooses the policy that it recommends",
            explanation: RULE_IN_FULL,
            source: "docs/book/src/compare.md; the limits are this project's choice",
        },
        aliases: &["rules", "recommendation", "choose"],
    },
];

/// Returns the term with this name or alias, in any case, with blanks or dashes.
pub(super) fn term(name: &str) -> Option<&'static Term> {
    let name = name.to_ascii_lowercase().replace(' ', "-");
    let names = |term: &&Term| term.described.name == name || term.aliases.contains(&&*name);
    // A plural is the same thing.
    let singular = name.strip_suffix('s').unwrap_or(&name);
    TERMS.iter().find(names).or_else(|| {
        (TERMS.iter())
            .find(|term| term.described.name == singular || term.aliases.contains(&singular))
    })
}

#[cfg(test)]
mod tests {
    use super::term;

    #[test]
    fn a_term_has_the_words_of_linux_and_of_research() {
        for word in [
            "huge-page",
            "Huge pages",
            "THP",
            "superpages",
            "transparent huge pages",
        ] {
            let found = term(word).map(|term| term.described.name);
            assert_eq!(found, Some("huge-page"), "{word}");
        }
        assert!(term("mTHP").is_some() && term("khugepaged").is_some());
        assert!(term("huge").is_none());
    }
}
