//! The paper's tables 2 to 6, as printed.

/// The paper's figures of a program.
pub(super) struct Published {
    pub(super) program: &'static str,
    /// Table 2: seconds on the Alpha, and the percentage of TLB misses in them.
    pub(super) seconds: f64,
    pub(super) measured_misses: u64,
    pub(super) tlb_percent: f64,
    /// Table 4, in the order of [`POLICIES`]: hundreds of misses.
    pub(super) misses: [u64; 8],
    /// Table 5, for all but the first policy: the speedup in percent.
    pub(super) improvement: [f64; 7],
    /// Table 6: pages of 4 KiB and each power of two above it, up to 8 MiB.
    pub(super) pages: [u64; 12],
    /// Table 6: all pages, in pages of 4 KiB.
    pub(super) total: u64,
}

/// The columns of table 4, by the names used here.
pub(super) const POLICIES: [&str; 8] = [
    "4k",
    "16k",
    "64k",
    "offline",
    "asap",
    "asap-4-64",
    "online",
    "approx-online",
];

/// Table 3: the cycles of a miss.
pub(super) const MISS_COSTS: [u64; 8] = [30, 30, 30, 30, 30, 30, 2600, 130];

/// The clock of the Alpha on which table 2 was measured.
pub(super) const HERTZ: f64 = 225e6;

pub(super) const PROGRAMS: [Published; 10] = [
    Published {
        program: "coral",
        seconds: 51.6,
        measured_misses: 1_242_456,
        tlb_percent: 41.4,
        misses: [
            1_205_951, 858_980, 410_424, 405, 1_193_847, 412_253, 12_517, 16_107,
        ],
        improvement: [10.0, 22.9, 33.8, 0.3, 21.9, 12.3, 29.5],
        pages: [105, 9, 11, 4, 8, 3, 4, 1, 11, 8, 1, 0],
        total: 8743,
    },
    Published {
        program: "compress",
        seconds: 1.1,
        measured_misses: 25_650,
        tlb_percent: 35.2,
        misses: [29_198, 9201, 0, 1, 2, 1, 85, 117],
        improvement: [23.7, 34.6, 33.9, 32.0, 33.7, 28.5, 33.1],
        pages: [22, 1, 6, 10, 2, 1, 0, 0, 0, 0, 0, 0],
        total: 192,
    },
    Published {
        program: "nasa7-5",
        seconds: 9.0,
        measured_misses: 205_845,
        tlb_percent: 34.7,
        misses: [407_140, 100_880, 5, 3, 6, 8, 249, 249],
        improvement: [36.2, 48.1, 47.9, 47.1, 47.8, 46.4, 47.8],
        pages: [126, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0],
        total: 590,
    },
    Published {
        program: "nasa7-4",
        seconds: 1.0,
        measured_misses: 23_787,
        tlb_percent: 34.4,
        misses: [30_044, 7084, 3, 38, 8, 18, 316, 352],
        improvement: [28.7, 37.6, 35.7, 22.9, 33.5, 15.0, 33.5],
        pages: [406, 0, 1, 13, 10, 4, 0, 0, 0, 0, 0, 0],
        total: 802,
    },
    Published {
        program: "fpga",
        seconds: 53.8,
        measured_misses: 806_331,
        tlb_percent: 28.4,
        misses: [
            744_183, 643_967, 487_609, 251, 734_965, 489_516, 8827, 10_446,
        ],
        improvement: [2.8, 7.1, 19.4, 0.2, 5.8, 5.9, 17.4],
        pages: [378, 2, 0, 5, 1, 1, 3, 12, 13, 2, 4, 0],
        total: 10_646,
    },
    Published {
        program: "cecil",
        seconds: 126.2,
        measured_misses: 969_255,
        tlb_percent: 16.6,
        misses: [
            482_885, 274_927, 156_059, 42_006, 433_048, 158_025, 28_731, 35_497,
        ],
        improvement: [2.5, 3.9, 4.5, 0.5, 0.4, -13.7, 2.0],
        pages: [44_526, 154, 61, 45, 40, 19, 14, 9, 4, 8, 8, 5],
        total: 72_286,
    },
    Published {
        program: "atom",
        seconds: 9.8,
        measured_misses: 94_304,
        tlb_percent: 16.1,
        misses: [49_511, 428, 70, 930, 1164, 128, 864, 1041],
        improvement: [7.3, 7.4, 7.2, 6.9, 2.4, 0.6, 6.6],
        pages: [8134, 17, 11, 6, 3, 2, 0, 0, 0, 0, 0, 0],
        total: 8372,
    },
    Published {
        program: "fft",
        seconds: 43.7,
        measured_misses: 294_899,
        tlb_percent: 10.7,
        misses: [317_447, 231_161, 58_162, 10, 83, 58_199, 4112, 4112],
        improvement: [2.7, 8.0, 8.8, 4.0, 7.0, 2.3, 8.2],
        pages: [97, 0, 0, 0, 0, 2, 1, 1, 1, 1, 1, 3],
        total: 8289,
    },
    Published {
        program: "spice",
        seconds: 210.5,
        measured_misses: 1_212_271,
        tlb_percent: 9.4,
        misses: [1_852_305, 215_924, 355, 3, 1_002_570, 380, 605, 823],
        improvement: [1.1, 1.3, 1.3, 0.6, 1.3, 1.3, 1.3],
        pages: [117, 2, 4, 4, 8, 9, 4, 0, 0, 0, 0, 0],
        total: 841,
    },
    Published {
        program: "gcc",
        seconds: 1.5,
        measured_misses: 4389,
        tlb_percent: 5.2,
        misses: [1207, 48, 0, 237, 21, 2, 187, 232],
        improvement: [1.1, 1.1, 0.6, -1.6, -0.4, -8.8, -0.8],
        pages: [109, 8, 18, 15, 3, 0, 0, 0, 0, 0, 0, 0],
        total: 365,
    },
];

impl Published {
    pub(super) fn of(program: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|known| known.program == program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_table_6_come_to_its_totals() {
        for program in &PROGRAMS {
            let pages = program.pages.iter().enumerate();
            let sum: u64 = pages.map(|(order, pages)| pages << order).sum();
            assert_eq!(sum, program.total, "{}", program.program);
        }
    }
}
