//! The events of allocation sites, by the bytes that the book describes.

use broadleaf_trace::{Allocation, Event, EventEncoder, Site, SiteFrame};
use broadleaf_units::{SiteId, VirtAddr};

fn encoded(event: &Event) -> Vec<u8> {
    let mut encoder = EventEncoder::new();
    encoder.push(0, event).expect("an event of the format");
    encoder.bytes().to_vec()
}

#[test]
fn a_site_has_the_bytes_of_the_book() {
    let site = Site {
        allocator: "new".to_owned(),
        frames: vec![SiteFrame {
            function: "f".to_owned(),
            file: "a.c".to_owned(),
            line: 300,
        }],
    };
    let payload = [&[7, 3][..], b"new", &[1, 1], b"f", &[3], b"a.c", &[0xac, 2]].concat();
    let bytes = [&[0, 19, payload.len() as u8][..], &payload].concat();
    assert_eq!(encoded(&Event::Site(SiteId(7), site)), bytes);
}

#[test]
fn an_allocation_has_the_bytes_of_the_book() {
    let allocation = Allocation {
        site: SiteId(7),
        start: VirtAddr(0x1001),
        len: 5,
        count: 2,
        bytes: 4,
    };
    let bytes = encoded(&Event::Allocation(allocation));
    assert_eq!(bytes, [0, 20, 6, 7, 0x81, 0x20, 5, 2, 4]);
}

#[test]
fn an_allocation_past_the_last_address_is_refused() {
    let allocation = Allocation {
        site: SiteId(0),
        start: VirtAddr(u64::MAX),
        len: 2,
        count: 1,
        bytes: 2,
    };
    let refused = EventEncoder::new().push(0, &Event::Allocation(allocation));
    assert!(refused.is_err());
}
