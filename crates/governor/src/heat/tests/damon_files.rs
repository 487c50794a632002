//! The kdamonds that this process has made, and the time for which they watch.

use super::*;
use crate::heat::damon::{Kdamond, aggregation};
use crate::heat::kdamonds::KdamondList;

const NUMBER: &str = "mm/damon/admin/kdamonds/nr_kdamonds";
const STATE: &str = "mm/damon/admin/kdamonds/0/state";

#[test]
fn aggregations_cover_the_window() {
    for (window, each) in [
        (10, 50),
        (100, 50),
        (1_000, 100),
        (2_000, 200),
        (60_000, 2_000),
    ] {
        let each = Duration::from_millis(each);
        assert_eq!(aggregation(Duration::from_millis(window)), each, "{window}");
    }
}

#[test]
fn the_end_of_a_process_removes_its_kdamonds() {
    let made = MadeUp::new().with_damon("vaddr\n", 0);
    let (meter, list) = (made.meter(), KdamondList::new());
    let kdamond = Kdamond::new(&meter, "vaddr", SHORT, &list).unwrap();
    assert_eq!(made.read(NUMBER), "1");
    list.end();
    assert_eq!([made.read(NUMBER), made.read(STATE)], ["0", "off"]);
    // Another process makes one before the measurement ends.
    made.write(NUMBER, "1\n");
    made.write(STATE, "on\n");
    drop(kdamond);
    assert_eq!([made.read(NUMBER), made.read(STATE)], ["1\n", "on\n"]);
    // A measurement that begins now would leave its kdamond behind.
    made.write(NUMBER, "0\n");
    let refused = Kdamond::new(&meter, "vaddr", SHORT, &list).err().unwrap();
    assert!(refused.contains("this process is ending"), "{refused}");
    assert_eq!(made.read(NUMBER), "0\n");
}
