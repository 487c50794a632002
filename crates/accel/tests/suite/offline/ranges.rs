//! The savings of chosen pieces by range, compared with the oracle's misses with the pieces of that
//! range and no others.

use super::{cases, machine, replay_on, some_prices};
use broadleaf_machine::Machine;
use broadleaf_model::{Choice, ChosenPiece, Plan};
use broadleaf_oracle::Recording;
use broadleaf_oracle::offline::{Layout, LayoutPiece as Piece, misses};
use broadleaf_oracle::random::{Rng, loops};

/// The choice for a recording, by range.
fn choice(recording: &Recording, on: Machine, kib: u64) -> Choice {
    let outcome = replay_on(recording, &["offline"], vec![on], kib, Plan::with_ranges);
    (outcome.choices.into_iter().next()).expect("a choice")
}

fn layout(pieces: &[ChosenPiece]) -> Layout {
    let pieces = pieces.iter().map(|piece| Piece {
        order: u32::from(piece.size.shift() - 12),
        space: piece.space.0,
        first: piece.address >> 12,
    });
    Layout::of(pieces).expect("pieces that do not overlap")
}

#[test]
fn a_range_spares_what_its_pieces_spare_together() {
    let (mut of_several, mut differ) = (0, 0);
    for seed in 0..cases() {
        let mut rng = Rng::new(seed);
        let (orders, _) = some_prices(&mut rng);
        let entries = 2 + rng.below(6) as usize;
        let length = 100 + rng.below(300) as usize;
        let stream = loops(&mut rng, 2, 20, length);
        let recording = stream.recording(*orders.last().expect("an order"));
        let choice = choice(&recording, machine(entries, &orders), 1);
        let mut next = 0;
        for range in &choice.ranges {
            assert_eq!(
                range.pieces.start, next,
                "seed {seed}: each piece in one range"
            );
            next = range.pieces.end;
            let pieces = &choice.pieces[range.pieces.clone()];
            let neighbours = pieces.windows(2).all(|pair| {
                pair[0].space == pair[1].space
                    && pair[0].size == pair[1].size
                    && pair[0].address + pair[0].size.bytes() == pair[1].address
            });
            assert!(neighbours, "seed {seed}");
            let spared = misses(&stream, entries, &Layout::default())
                - misses(&stream, entries, &layout(pieces));
            assert_eq!(range.walks_spared, spared, "seed {seed}");
            let each: u64 = pieces.iter().map(|piece| piece.walks_spared).sum();
            of_several += u64::from(pieces.len() > 1);
            differ += u64::from(each != spared);
        }
        assert_eq!(next, choice.pieces.len(), "seed {seed}");
    }
    assert!(
        of_several > cases() / 2 && differ > cases() / 8,
        "{of_several} {differ}"
    );
}
