//! Figure 2: the candidates that one miss is charged to, and the TLB with and without them.

use broadleaf_charges::{Candidate, CapacityCharges, Ladder, PrefetchCharges};
use broadleaf_units::Asid;

use crate::papers::Table;

/// The paper's references, to a TLB of three entries.
const REFERENCES: [u64; 7] = [8, 1, 7, 6, 5, 0, 1];
const ENTRIES: usize = 3;

/// A page: its first base page, and the number of its base pages.
type Figure2Page = (u64, u64);

fn written((first, pages): Figure2Page) -> String {
    match pages {
        1 => first.to_string(),
        2 => format!("{{{first},{}}}", first + 1),
        _ => format!("{{{first}..{}}}", first + pages - 1),
    }
}

/// The content of the TLB after each reference, newest first, and whether the last reference hits.
fn contents(superpage: Option<Figure2Page>) -> (Vec<String>, bool) {
    let mut tlb: Vec<Figure2Page> = Vec::new();
    let mut hits = false;
    let all = REFERENCES.map(|page| {
        let around = superpage.filter(|(first, pages)| (*first..first + pages).contains(&page));
        let piece = around.unwrap_or((page, 1));
        hits = tlb.contains(&piece);
        tlb.retain(|held| *held != piece);
        tlb.insert(0, piece);
        tlb.truncate(ENTRIES);
        let held: Vec<String> = tlb.iter().map(|held| written(*held)).collect();
        held.join(" ")
    });
    (all.to_vec(), hits)
}

/// The candidates that the last reference is charged to, as sets of pages: prefetch charges and
/// capacity charges.
fn charged() -> Option<[Vec<String>; 2]> {
    let ladder = Ladder::new(&[0, 1, 2, 3, 4]).ok()?;
    let tag = Asid::default();
    let mut prefetch = PrefetchCharges::new(ladder);
    let mut capacity = CapacityCharges::new(ladder, ENTRIES);
    let mut tlb: Vec<u64> = Vec::new();
    let mut charged = [Vec::new(), Vec::new()];
    for page in REFERENCES {
        charged = [Vec::new(), Vec::new()];
        let [held, kept] = &mut charged;
        let piece =
            |candidate: Candidate| written((candidate.first, ladder.pages(candidate.level)));
        prefetch.miss(tag, page, 0, |candidate, _| held.push(piece(candidate)));
        capacity.miss(tag, page, 0, |candidate, _| kept.push(piece(candidate)));
        tlb.insert(0, page);
        if tlb.len() > ENTRIES {
            prefetch.evict(tag, tlb.remove(ENTRIES), 0);
        }
    }
    Some(charged)
}

pub(super) fn table() -> Table {
    let mut table = Table::new(
        "Figure 2: the charges of one miss",
        "What a TLB of three entries holds after each reference, the newest first: without \
         superpages, with pages 0 and 1 as one, and with pages 4 to 7 as one.",
        &[
            "superpage",
            "8",
            "1",
            "7",
            "6",
            "5",
            "0",
            "1",
            "last reference",
        ],
    );
    let mut ends = Vec::new();
    for superpage in [None, Some((0, 2)), Some((4, 4))] {
        let (held, hits) = contents(superpage);
        let name = superpage.map_or_else(|| "none".to_owned(), written);
        let end = if hits { "hits" } else { "misses" };
        ends.push(hits);
        table.row([name].into_iter().chain(held).chain([end.to_owned()]));
    }
    let words: Vec<&str> = (ends.iter())
        .map(|hits| if *hits { "hits" } else { "misses" })
        .collect();
    let [prefetch, capacity] = charged().unwrap_or_default();
    table
        .direction(
            ends == [false, true, true],
            "the last reference misses without superpages, and hits with {0,1} or with {4..7}",
        )
        .words("misses, hits, hits", words.join(", "));
    table
        .direction(
            prefetch == ["{0,1}", "{0..3}", "{0..7}", "{0..15}"],
            "{0,1} and the pieces that hold it, and no other piece, get a prefetch charge",
        )
        .words("{0,1}", prefetch.join(" "));
    table
        .direction(
            capacity == ["{4..7}"],
            "{4..7}, and no other piece, gets a capacity charge",
        )
        .words("{4..7}", capacity.join(" "));
    table
}
