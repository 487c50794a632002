//! The references: traces of ChampSim, and the same bytes each time.

use broadleaf_oracle::random::Rng;

/// Bytes of a record (ChampSim, `inc/trace_instruction.h`).
const RECORD: usize = 64;

/// The first destination and the first source of a load that needs the load before.
const REGISTERS: [u8; 2] = [1, 1];

/// Loads of each pattern.
const LOADS: u64 = 1500;

/// Instructions at the end that refer to nothing. ChampSim stops when it has read the last record,
/// and about 500 instructions are then unfinished.
const UNFINISHED: usize = 1000;

/// The first data page, and the first byte of the code.
const DATA: u64 = 1 << 32;
const CODE: u64 = 0x40_0000;

/// The pages that an entry of each level of the page table covers, as shifts.
const DIRECTORY: u64 = 9;
const GIB: u64 = 18;
const HALF_TIB: u64 = 27;
const TOP: u64 = 36;

/// A trace of seven patterns. Each load needs the result of the load before: it names a register
/// that both load. So ChampSim's core has one load in flight.
pub(super) fn patterns() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rng = Rng::new(1);
    for pattern in 0..7 {
        for _ in 0..LOADS {
            let page = DATA + page(pattern, &mut rng);
            load(page << 12 | rng.below(512) << 3, &mut bytes);
        }
    }
    end(&mut bytes);
    bytes
}

/// Appends instructions that refer to nothing, in the page of the last instruction.
pub(super) fn end(bytes: &mut Vec<u8>) {
    let mut last = [0; RECORD];
    last[..16].copy_from_slice(&bytes[bytes.len() - RECORD..][..16]);
    (0..UNFINISHED).for_each(|_| bytes.extend(last));
}

/// The references of an export, each a load that needs the result of the load before. Instructions
/// without references stay.
pub(super) fn in_order(exported: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in exported.chunks_exact(RECORD) {
        let (stores, loads) = (&record[16..32], &record[32..]);
        let words = loads.chunks_exact(8).chain(stores.chunks_exact(8));
        let mut addresses: Vec<&[u8]> = words.filter(|word| **word != [0; 8]).collect();
        if addresses.is_empty() {
            addresses.push(&[0; 8]);
        }
        for address in addresses {
            let mut load = [0; RECORD];
            load[..10].copy_from_slice(&record[..10]);
            [load[10], load[12]] = REGISTERS;
            load[32..40].copy_from_slice(address);
            bytes.extend(load);
        }
    }
    end(&mut bytes);
    bytes
}

fn load(address: u64, bytes: &mut Vec<u8>) {
    let mut record = [0; RECORD];
    let ip = CODE + 4 * (bytes.len() / RECORD % 16) as u64;
    record[..8].copy_from_slice(&ip.to_le_bytes());
    [record[10], record[12]] = REGISTERS;
    record[32..40].copy_from_slice(&address.to_le_bytes());
    bytes.extend(record);
}

/// The page of a load.
fn page(pattern: u64, rng: &mut Rng) -> u64 {
    match pattern {
        // As many entries as the walk cache of 2 MiB holds, and many more.
        0 => rng.below(1 << 14),
        1 => rng.below(1 << 20),
        // Pages of one set of each TLB.
        2 => ((3 * rng.below(10)) << DIRECTORY) + 128 * rng.below(2),
        // More entries than the walk cache of 1 GiB, of 512 GiB and of 256 TiB holds.
        3 => (rng.below(12) << GIB) + (rng.below(2) << DIRECTORY) + rng.below(512),
        4 => (rng.below(7) << HALF_TIB) + (rng.below(2) << GIB) + rng.below(64),
        5 => (rng.below(5) << TOP) + (rng.below(3) << HALF_TIB) + rng.below(512),
        // All of these.
        _ => {
            let other = rng.below(6);
            page(other, rng)
        }
    }
}
