// Two tables of 6 MiB. The argument names the one that is used at random. The other is filled
// once.
struct HotTable(Vec<u64>);

fn first() -> HotTable {
    HotTable(vec![1; 3 << 18]) // first
}

fn second() -> HotTable {
    let mut table = Vec::new();
    table.reserve_exact(3 << 18); // second
    table.extend(0..3 << 18);
    HotTable(table)
}

fn main() {
    let (mut one, mut other) = (first(), second());
    let is_first = std::env::args().nth(1).as_deref() == Some("first");
    let hot = if is_first { &mut one.0 } else { &mut other.0 };
    let (mut state, mut sum) = (1_u64, 0_u64);
    for _ in 0..50_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let at = (state >> 33) as usize % hot.len();
        hot[at] += 1;
        sum = sum.wrapping_add(hot[at]);
    }
    std::process::exit((sum == 1) as i32);
}
