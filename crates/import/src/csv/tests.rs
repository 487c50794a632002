use super::*;
use crate::import::ImportCounts;
use crate::testing::import_text;
use broadleaf_trace::Visit;

fn import(text: &str) -> Result<(Vec<Visit>, ImportCounts, Vec<LeftOut>), String> {
    import_text(CSV.import.as_ref(), text)
}

#[test]
fn columns_come_in_any_order() {
    let (visits, counts, left_out) =
        import("time,Size,kind,address\n1,8,load,0x1ff8\n2,8,W,8190\n3,4,i,0x400000\n").unwrap();
    assert_eq!(
        (counts.loads, counts.stores, counts.instructions),
        (1, 1, 1)
    );
    assert_eq!(left_out[0].count, 1, "the column of times");
    // The store of 8 bytes at 8,190 reaches into page 2.
    let units: Vec<u64> = visits.iter().map(|visit| visit.unit).collect();
    assert_eq!(units[..2], [1, 2]);
}

#[test]
fn addresses_alone_are_loads_of_a_byte() {
    let (visits, counts, left_out) = import("address\r\n4095\r\n\r\n4096\r\n").unwrap();
    assert_eq!((counts.records, counts.loads), (2, 2));
    assert!(left_out.is_empty());
    assert_eq!(visits.len(), 2);
}

#[test]
fn wrong_rows_are_refused_with_their_place() {
    for (text, says) in [
        (
            "0x1000,load\n",
            "line 1 (at byte 0): no column is called \"address\"",
        ),
        (
            "address,address\n1,2\n",
            "two columns are called \"address\"",
        ),
        ("address\nx\n", "line 2 (at byte 8): \"x\" is no address"),
        ("address,kind\n1\n", "it has 1 values for 2 columns"),
        (
            "address,kind\n1,jump\n",
            "the kind is none of load, store and fetch",
        ),
        ("address,size\n1,0\n", "the size is not between 1 and 65536"),
        (
            "address,size\n0xffffffffffffffff,2\n",
            "past the end of the address space",
        ),
    ] {
        let refused = import(text).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    }
}
