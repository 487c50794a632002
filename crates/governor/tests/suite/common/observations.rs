//! Random observations of processes.

use broadleaf_governor::{
    BlockHeat, BlockSeen, Headroom, LiveBacking, LiveMapping, LivePages, MachineSeen, Observation,
    ProcessId, ProcessSeen, Vitals,
};
use proptest::prelude::*;
use std::time::Duration;

fn mapping() -> impl Strategy<Value = (u64, u64, LiveBacking, bool, String)> {
    let backing = prop_oneof![
        Just(LiveBacking::Anonymous),
        Just(LiveBacking::Shmem),
        Just(LiveBacking::File),
        Just(LiveBacking::Other)
    ];
    (
        0..3_u64,
        1..3_u64,
        backing,
        any::<bool>(),
        "[a-c]?|\\PC{0,4}",
    )
}

fn pages() -> impl Strategy<Value = LivePages> {
    let blocks = prop::collection::btree_map(0..20_u64, (0..6_u8, 0..170_u16), 0..12);
    let used = prop::option::of(prop::collection::btree_map(0..20_u64, 0..513_u16, 0..5));
    (prop::collection::vec(mapping(), 0..6), blocks, used).prop_map(|(mappings, blocks, used)| {
        let mut at = 0;
        let mappings = mappings
            .into_iter()
            .map(|(gap, length, backing, flag, name)| {
                let start = at + gap * 4096;
                at = start + length * 4096;
                LiveMapping {
                    start,
                    end: at,
                    backing,
                    writable: flag,
                    congruent: !flag,
                    inode: 0,
                    offset: 0,
                    name,
                }
            });
        let block = |(block, (kind, count)): (u64, (u8, u16))| BlockSeen {
            block,
            present: count * u16::from(kind % 2),
            zero: count * u16::from(kind / 2 % 2),
            swapped: count * u16::from(kind == 4),
            huge: kind == 5 && count > 100,
        };
        let blocks = blocks.into_iter().map(block).map(|seen| match seen.huge {
            true => BlockSeen {
                present: 0,
                zero: 0,
                swapped: 0,
                ..seen
            },
            false => seen,
        });
        LivePages {
            held: None,
            asked: None,
            used: used.map(|used| {
                let used = used.into_iter();
                used.map(|(block, used)| BlockHeat { block, used })
                    .collect()
            }),
            mappings: mappings.collect(),
            blocks: blocks.collect(),
        }
    })
}

/// Returns observations of a few small processes.
pub(crate) fn seen() -> impl Strategy<Value = Observation> {
    let process = (
        prop::option::of(pages()),
        prop::option::of((0..3_u64, 0..3_u64)),
        (0..3_u64, 0..3_u64, "[a(]{0,2}|\\PC{0,3}"),
    );
    let processes = prop::collection::btree_map((1..4_u32, 0..2_u64), process, 0..4);
    let machine = (any::<u64>(), 0..3_u64, prop::option::of(0..2_u32));
    (processes, machine).prop_map(|(processes, machine)| Observation {
        at: Duration::ZERO,
        machine: MachineSeen {
            available_bytes: machine.0,
            free_blocks: machine.1,
            pressure: machine.2,
        },
        processes: (processes.into_iter())
            .map(|((pid, started), (pages, headroom, vitals))| ProcessSeen {
                id: ProcessId { pid, started },
                vitals: Vitals {
                    command: vitals.2,
                    image: vitals.0,
                    faults: vitals.1,
                    rss_bytes: vitals.0 * 4096,
                },
                headroom: headroom.map(|(bytes, limit)| Headroom { bytes, limit }),
                pages,
            })
            .collect(),
    })
}
