//! What a TLB needs from an operating system, as `explain` prints it (Talluri 1995, Table 6-1).

use broadleaf_report::{Align, Grid};
use broadleaf_tlb::{Design, Organisation, SystemSupport};

/// The mechanisms of Table 6-1: the name, the cell of a kind of TLB, and where Broadleaf has the
/// mechanism.
type Mechanism = (
    &'static str,
    fn(&SystemSupport) -> &'static str,
    &'static str,
);

const MECHANISMS: &[Mechanism] = &[
    (
        "policy of page sizes",
        |of| of.assignment,
        "static, working-set, foxtrot",
    ),
    (
        "free lists of several sizes",
        |of| of.extents.in_words(),
        "--allocator",
    ),
    (
        "gather",
        |of| of.gather.in_words(),
        "foxtrot(gather=yes), place(gather=50)",
    ),
    (
        "promotion and demotion",
        |of| of.promotion.in_words(),
        "foxtrot, working-set",
    ),
    (
        "monitoring of references",
        |of| of.monitoring.in_words(),
        "working-set, online",
    ),
    (
        "framework of several sizes",
        |of| of.framework.in_words(),
        "static",
    ),
    (
        "careful placement",
        |of| of.placement.in_words(),
        "reserve-64k, foxtrot",
    ),
];

/// The needs of a machine's TLB.
pub(super) fn of_design(design: &Design) -> (String, Option<Grid>) {
    told("This TLB", &design.support())
}

/// The needs of a TLB of an organisation. `None` if nothing has the name. Sets can hold superpages,
/// which have needs of their own.
pub(super) fn of_organisation(name: &str) -> Option<(String, Option<Grid>)> {
    let organisation = Organisation::named(name)?;
    Some(match organisation.support {
        Some(own) => told("A TLB with one page size", &[own]),
        None => {
            let superpages = [
                SystemSupport::SUPERPAGE_STATIC,
                SystemSupport::SUPERPAGE_DYNAMIC,
            ];
            let (sentence, grid) = told("With several page sizes, it", &superpages);
            let alone = "With one page size, this TLB needs no support by the system.";
            (format!("{alone} {sentence}"), grid)
        }
    })
}

fn told(subject: &str, kinds: &[SystemSupport]) -> (String, Option<Grid>) {
    if kinds.is_empty() {
        let sentence = format!(
            "{subject} needs no support by the system: every entry holds pages of one size, \
             wherever they lie (Talluri 1995, Table 6-1)."
        );
        return (sentence, None);
    }
    let mut grid = Grid::new().column("mechanism", Align::Left);
    for kind in kinds {
        grid = grid.column(kind.kind, Align::Left);
    }
    grid = grid.column("in Broadleaf", Align::Left);
    for (name, need, here) in MECHANISMS {
        let cells = kinds.iter().map(need);
        grid.row([*name].into_iter().chain(cells).chain([*here]));
    }
    let sentence = format!("{subject} needs this from the system (Talluri 1995, Table 6-1):");
    (sentence, Some(grid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_machine::machine;

    /// The cells of Table 6-1 as printed, in the order of its columns.
    const PRINTED: [(&str, [&str; 7]); 3] = [
        (
            "partial-subblock",
            [
                "N/A", "required", "optional", "N/A", "N/A", "N/A", "required",
            ],
        ),
        (
            "static superpages",
            [
                "Static",
                "required",
                "N/A",
                "N/A",
                "N/A",
                "optional a",
                "optional a",
            ],
        ),
        (
            "dynamic superpages",
            [
                "Dynamic", "required", "required", "required", "required", "optional", "required",
            ],
        ),
    ];

    #[test]
    fn the_cells_are_those_of_the_printed_table() {
        let kinds = [
            SystemSupport::PARTIAL_SUBBLOCK,
            SystemSupport::SUPERPAGE_STATIC,
            SystemSupport::SUPERPAGE_DYNAMIC,
        ];
        for (kind, (name, printed)) in kinds.iter().zip(PRINTED) {
            assert_eq!(kind.kind, name);
            for ((mechanism, need, _), printed) in MECHANISMS.iter().zip(printed) {
                let expected = match printed {
                    "N/A" => "not needed".to_owned(),
                    // Note a: at least one of the two is required.
                    "optional a" => "one of these".to_owned(),
                    other => other.to_lowercase(),
                };
                assert_eq!(need(kind), expected, "{name}, {mechanism}");
            }
        }
    }

    #[test]
    fn every_named_policy_exists() {
        for (_, _, here) in MECHANISMS {
            for name in here.split(", ").filter(|name| !name.starts_with('-')) {
                assert!(broadleaf_policy::parse(name).is_ok(), "{name}");
            }
        }
    }

    #[test]
    fn a_machine_has_the_columns_of_its_parts() {
        let kinds = |name: &str| -> Vec<&str> {
            let machine = machine(name).expect("a machine");
            machine.design.support().iter().map(|of| of.kind).collect()
        };
        assert_eq!(
            kinds("skylake"),
            ["static superpages", "dynamic superpages"]
        );
        assert_eq!(
            kinds("zen4"),
            ["static superpages", "dynamic superpages", "coalesced"]
        );
        let (sentence, _) = told("This TLB", &[]);
        assert!(sentence.contains("no support"));
    }
}
