//! Records a command, reads the trace back and holds the two against each other. For the recorder's developers.

use std::ffi::OsString;
use std::io::Cursor;

use broadleaf_record::valgrind::{Options, record};
use broadleaf_trace::{Grain, Item, TraceReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let options = Options {
        command,
        grain: Grain::Page,
        instructions: std::env::var_os("INSTRUCTIONS").is_some(),
        follow_children: std::env::var_os("CHILDREN").is_some(),
        level: 1,
        recorder: "check".into(),
    };
    let finished = record(&options, Cursor::new(Vec::new()), &mut |_| {})?;
    let trace = finished.output.into_inner();
    println!("recorded {:?} in {:?}, {} processes, {:?}", finished.totals, finished.elapsed, finished.processes, finished.status);
    let accesses = finished.totals.accesses();
    println!("{} bytes, {:.4} for each access", trace.len(), trace.len() as f64 / accesses as f64);
    let mut reader = TraceReader::new(&trace[..])?;
    let (mut loads, mut stores, mut instructions, mut visits, mut events) = (0, 0, 0, 0u64, 0);
    let began = std::time::Instant::now();
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Visits(some) => {
                visits += some.len() as u64;
                for v in some {
                    loads += u64::from(v.loads);
                    stores += u64::from(v.stores);
                    instructions += u64::from(v.instructions);
                }
            }
            Item::Event(e) => {
                events += 1;
                if std::env::var_os("EVENTS").is_some() {
                    println!("{e:?}");
                }
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("read {loads} loads, {stores} stores, {instructions} instructions, {visits} visits, {events} events in {seconds:.2} s: {:.0} M accesses/s", accesses as f64 / seconds / 1e6);
    Ok(())
}
