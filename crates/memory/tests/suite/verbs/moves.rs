//! Mappings that move.

use super::*;

#[test]
fn a_whole_block_moves_with_everything_and_parts_page_by_page() {
    let mut world = VerbMemory::new(1);
    world.now = 77;
    world.touch(5, true);
    world.promote(0);
    let changes = world
        .spaces
        .remap(SPACE, pages(0, BLOCK), pages(8 * BLOCK, BLOCK));
    world.apply(&changes);
    let (source, target) = (world.block(0), world.block(8 * BLOCK));
    assert_eq!(world.state(source), UnpackedBlock::default());
    let state = &world.state(target);
    assert_eq!(
        (state.is_promoted(), state.reserved_at(), state.dirty()),
        (true, Some(77), 1)
    );
    assert_eq!(world.spaces.facts(target, 0).coverage, Coverage::Covered);
    assert_eq!(world.spaces.facts(source, 0).coverage, Coverage::NotCovered);

    // Moved by one page: the superpage is broken, and its pages come to lie in two blocks without a
    // reservation.
    let changes = world
        .spaces
        .remap(SPACE, pages(8 * BLOCK, BLOCK), pages(1, BLOCK));
    world.apply(&changes);
    assert_eq!(world.memory.counters().demotions, 1);
    let next = world.block(BLOCK);
    let (first, second) = (&world.state(source), &world.state(next));
    assert_eq!((first.populated(), second.populated()), (511, 1));
    assert!(first.is_dirty(6) && !first.is_promoted());
    assert_eq!((first.reserved_at(), second.reserved_at()), (None, None));
    assert_eq!(
        first.filled().count() + second.filled().count(),
        511,
        "filled pages move as such"
    );
    assert_eq!(world.memory.counters().resident, 512);
    assert_eq!(world.totals().extra_zeroed_pages, 511);
}

#[test]
fn remapping_in_place_and_over_others() {
    let mut world = VerbMemory::new(4);
    world.touch(0, false);
    world.touch(BLOCK, false);
    // A grown mapping replaces the mappings above it. The part in place is left alone.
    let changes = world
        .spaces
        .remap(SPACE, pages(0, BLOCK), pages(0, 2 * BLOCK));
    world.apply(&changes);
    assert_eq!(world.memory.counters().resident, 1);
    let changes = world.spaces.remap(SPACE, pages(0, 2 * BLOCK), pages(0, 1));
    world.apply(&changes);
    assert_eq!(world.memory.counters().resident, 1);
    let block = world.block(BLOCK);
    assert_eq!(world.spaces.facts(block, 0).coverage, Coverage::NotCovered);
    // No kernel moves a range onto a part of itself.
    assert!(
        world
            .spaces
            .remap(SPACE, pages(2 * BLOCK, BLOCK), pages(2 * BLOCK + 1, BLOCK))
            .is_empty()
    );
}
