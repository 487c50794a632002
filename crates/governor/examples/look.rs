//! x
use broadleaf_governor::*;
fn main() {
    pin(1);
    let mut t = ChaseTimer::new(77).unwrap();
    let clock = core_clock();
    println!("clock {clock} counter {}", t.has_counter());
    for (b, name) in [(ChaseBacking::Base, "4k"), (ChaseBacking::Huge, "2m")] {
        print!("{name} span: ");
        for mib in [1u64, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] {
            match t.time_span(mib << 20, b, 5) {
                Some(s) => print!(
                    "{mib}:{:.1}/{:.1} ",
                    s.dependent * clock,
                    s.independent * clock
                ),
                None => print!("{mib}:- "),
            }
        }
        println!();
    }
    for (k, b, up) in [
        (12u32, ChaseBacking::Base, 16384u64),
        (21, ChaseBacking::Huge, 512),
        (30, ChaseBacking::Huge, 128),
    ] {
        print!("row 2^{k} {b:?}: ");
        let mut n = 8;
        while n <= up {
            for m in [n, n * 5 / 4, n * 3 / 2, n * 7 / 4] {
                if m > up {
                    continue;
                }
                let o: Vec<u64> = (0..m).map(|i| i << k).collect();
                let c = t.time_control(o.len(), 9).unwrap().nanoseconds;
                let v = (0..3)
                    .map(|_| {
                        t.time(&o, b, 9)
                            .map_or(f64::NAN, |x| (x.nanoseconds - c) * clock)
                    })
                    .fold(f64::INFINITY, f64::min);
                print!("{m}:{v:.1} ");
            }
            n *= 2;
        }
        println!();
    }
    println!("{:?}", measure_fault_costs());
}
