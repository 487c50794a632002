//! Scattered superpages by listing their frames (Chen 2014, section III.A).

/// The colour regions of a superpage, as a list: the region of each base page. The number of a
/// region is in the address bits from `low_bit` on.
fn region_of_pages(low_bit: u32, regions: u64) -> Vec<u64> {
    let mut of_pages = Vec::new();
    for page in 0..512_u64 {
        let address = page * 4096;
        of_pages.push(address / 2_u64.pow(low_bit) % regions);
    }
    of_pages
}

/// The frames of a scattered superpage's 512 base pages, in order. The superpage uses `share` of
/// the `regions` colour regions of consecutive physical superpages from `base` on.
///
/// The pages fill the share in the order of physical addresses: every frame of a physical superpage
/// that lies in a region of the share takes the next page, until no page is left.
pub fn scattered_frames(
    base: u64,
    (low_bit, regions): (u32, u64),
    share: std::ops::Range<u64>,
) -> Vec<u64> {
    let of_pages = region_of_pages(low_bit, regions);
    let mut frames = Vec::new();
    let mut superpage = base;
    while frames.len() < 512 {
        for (page, region) in of_pages.iter().enumerate() {
            if share.contains(region) {
                frames.push(superpage * 512 + page as u64);
            }
        }
        superpage += 1;
    }
    frames
}

/// The number of physical superpages, from the lowest one on, that an allocator skips until it
/// finds the place of a scattered superpage: enough consecutive ones of which every frame of the
/// share is free. `None` if there is no place below `superpages`.
pub fn first_place(
    is_free: impl Fn(u64) -> bool,
    superpages: u64,
    bits: (u32, u64),
    share: std::ops::Range<u64>,
) -> Option<u64> {
    (0..superpages).find(|base| {
        let frames = scattered_frames(*base, bits, share.clone());
        let last = frames.iter().max().copied().unwrap_or(0);
        last < superpages * 512 && frames.iter().all(|frame| is_free(*frame))
    })
}
