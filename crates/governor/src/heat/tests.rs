//! Heat from the files of made-up kernels.

use super::cooling::{Coolable, located};
use super::*;
use crate::KernelError;
use crate::seen::{BLOCK_BYTES, BlockSeen, LiveMapping, PAGE_BYTES, PAGES};
use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

mod damon_files;
mod idle_bits;
mod sampling;

/// The first block of the made-up process, and its blocks: the third is a superpage.
const FIRST: u64 = 8;
const BLOCKS: u64 = 6;
/// The used blocks of the made-up process.
const HOT: std::ops::Range<u64> = FIRST + 2..FIRST + 4;
const PID: u32 = 7;
const SHORT: Duration = Duration::from_millis(40);

fn id() -> ProcessId {
    ProcessId {
        pid: PID,
        started: 1,
    }
}

fn memory() -> LivePages {
    let full = |block| BlockSeen {
        block,
        present: PAGES as u16,
        ..BlockSeen::default()
    };
    let blocks = (FIRST..FIRST + BLOCKS).map(|block| match block {
        10 => BlockSeen::superpage(block),
        block => full(block),
    });
    LivePages {
        mappings: vec![LiveMapping {
            start: FIRST * BLOCK_BYTES,
            end: (FIRST + BLOCKS) * BLOCK_BYTES,
            backing: LiveBacking::Anonymous,
            writable: true,
            congruent: true,
            name: String::new(),
            inode: 0,
            offset: 0,
        }],
        blocks: blocks.collect(),
        ..LivePages::default()
    }
}

/// The frame of a page: blocks are in the opposite order in memory.
fn frame(page: u64) -> u64 {
    let (block, within) = (page / u64::from(PAGES), page % u64::from(PAGES));
    (100 - block) * u64::from(PAGES) + within
}

/// The files of a kernel: `proc` and `mm`.
struct MadeUp(tempfile::TempDir);

impl MadeUp {
    fn new() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(made.proc().join(PID.to_string())).unwrap();
        fs::create_dir_all(made.mm()).unwrap();
        made
    }

    fn proc(&self) -> PathBuf {
        self.0.path().join("proc")
    }

    fn mm(&self) -> PathBuf {
        self.0.path().join("mm")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    /// Writes `pagemap`, with these frames.
    fn with_frames(self, frame: impl Fn(u64) -> u64) -> Self {
        let path = self.proc().join(PID.to_string()).join("pagemap");
        let file = fs::File::create(path).unwrap();
        for page in FIRST * u64::from(PAGES)..(FIRST + BLOCKS) * u64::from(PAGES) {
            let entry = 1 << 63 | frame(page);
            file.write_all_at(&u64::to_le_bytes(entry), page * 8)
                .unwrap();
        }
        self
    }

    /// Writes the files of DAMON that this crate uses, as a kernel shows them after they are made.
    fn with_damon(self, operations: &str, kdamonds: u32) -> Self {
        let all = "mm/damon/admin/kdamonds";
        self.write(&format!("{all}/nr_kdamonds"), &format!("{kdamonds}\n"));
        let context = format!("{all}/0/contexts/0");
        self.write(&format!("{context}/avail_operations"), operations);
        for folder in [
            "monitoring_attrs/intervals",
            "monitoring_attrs/nr_regions",
            "targets/0/regions",
            "schemes/0/access_pattern/sz",
            "schemes/0/access_pattern/nr_accesses",
            "schemes/0/access_pattern/age",
            "schemes/0/tried_regions",
        ] {
            fs::create_dir_all(self.0.path().join(&context).join(folder)).unwrap();
        }
        for region in 0..BLOCKS {
            let folder = format!("{context}/targets/0/regions/{region}");
            fs::create_dir_all(self.0.path().join(folder)).unwrap();
        }
        self
    }

    /// Writes the regions that a scheme met.
    fn with_region(self, number: u32, start: u64, end: u64, accesses: u32) -> Self {
        let folder =
            format!("mm/damon/admin/kdamonds/0/contexts/0/schemes/0/tried_regions/{number}");
        self.write(&format!("{folder}/start"), &format!("{start}\n"));
        self.write(&format!("{folder}/end"), &format!("{end}\n"));
        self.write(&format!("{folder}/nr_accesses"), &format!("{accesses}\n"));
        self
    }

    fn meter(&self) -> HeatMeter {
        HeatMeter::at(self.proc(), self.mm())
    }

    fn measure(&self, only: Option<HeatSource>) -> Result<ProcessHeat, Vec<NoHeat>> {
        let meter = self.meter();
        let mut linux = Linux::at(self.proc());
        let sources = only.map_or(HeatSource::ALL.to_vec(), |only| vec![only]);
        meter.measure(&mut linux, id(), &memory(), SHORT, &sources)
    }
}

/// The blocks with use, and the pages used in each.
fn hot(blocks: &[BlockHeat]) -> Vec<(u64, u16)> {
    let used = blocks.iter().filter(|block| block.used > 0);
    used.map(|block| (block.block, block.used)).collect()
}

#[test]
fn idle_pages_are_the_first_source() {
    let made = MadeUp::new().with_frames(frame);
    made.write("mm/page_idle/bitmap", "");
    let bitmap = made.mm().join("page_idle/bitmap");
    let file = fs::File::options().write(true).open(&bitmap).unwrap();
    file.set_len(1 << 16).unwrap();
    let heat = made.measure(None).unwrap();
    assert_eq!(heat.source, HeatSource::IdlePages);
    // A plain file keeps every mark.
    assert_eq!(hot(&heat.blocks), []);
    assert_eq!((heat.blocks.len() as u64, heat.group), (BLOCKS, 1));
    assert!(heat.refused.is_empty());
}

#[test]
fn frame_numbers_that_are_hidden_are_a_reason() {
    let made = MadeUp::new().with_frames(|_| 0);
    made.write("mm/page_idle/bitmap", "");
    let refused = made.measure(Some(HeatSource::IdlePages)).unwrap_err();
    assert_eq!(
        refused[0].to_string(),
        "idle-pages: frame numbers need CAP_SYS_ADMIN; try as root"
    );
}

#[test]
fn regions_of_addresses_are_shared_out_to_blocks() {
    let half = BLOCK_BYTES / 2;
    let made = MadeUp::new()
        .with_damon("vaddr fvaddr paddr\n", 0)
        .with_region(0, 0, HOT.start * BLOCK_BYTES, 0)
        .with_region(1, HOT.start * BLOCK_BYTES, HOT.end * BLOCK_BYTES - half, 9);
    let heat = made.measure(None).unwrap();
    assert_eq!(heat.source, HeatSource::Damon);
    assert_eq!(hot(&heat.blocks), [(HOT.start, 512), (HOT.start + 1, 256)]);
    assert_eq!(heat.refused[0].source_of, HeatSource::IdlePages);
    let all = "mm/damon/admin/kdamonds";
    let context = format!("{all}/0/contexts/0");
    for (file, text) in [
        ("operations", "vaddr"),
        ("targets/0/pid_target", "7"),
        ("monitoring_attrs/intervals/sample_us", "5000"),
        ("monitoring_attrs/intervals/aggr_us", "50000"),
        ("schemes/0/action", "stat"),
        ("schemes/0/access_pattern/sz/max", "18446744073709551615"),
    ] {
        assert_eq!(made.read(&format!("{context}/{file}")), text, "{file}");
    }
    // Nothing of the measurement stays.
    assert_eq!(made.read(&format!("{all}/0/state")), "off");
    assert_eq!(made.read(&format!("{all}/nr_kdamonds")), "0");
}

#[test]
fn regions_of_frames_are_mapped_back_to_blocks() {
    let frames = frame((HOT.end - 1) * u64::from(PAGES))..frame(HOT.start * u64::from(PAGES));
    let made = MadeUp::new()
        .with_frames(frame)
        .with_damon("paddr\n", 0)
        .with_region(
            0,
            frames.start * PAGE_BYTES,
            (frames.end + 1) * PAGE_BYTES,
            20,
        );
    let heat = made.measure(None).unwrap();
    assert_eq!(heat.source, HeatSource::DamonPhysical);
    assert_eq!(hot(&heat.blocks), [(HOT.start, 512), (HOT.start + 1, 512)]);
    assert!(
        heat.refused[1].reason.contains("has no vaddr"),
        "{:?}",
        heat.refused
    );
    let target = "mm/damon/admin/kdamonds/0/contexts/0/targets/0/regions";
    assert_eq!(made.read(&format!("{target}/nr_regions")), "2");
    // Of a superpage, the first frame alone is watched; the other blocks are neighbours.
    assert_eq!(
        made.read(&format!("{target}/0/start")),
        (frame((FIRST + BLOCKS - 1) * u64::from(PAGES)) * PAGE_BYTES).to_string()
    );
}

#[test]
fn kdamonds_of_others_are_left_alone() {
    let made = MadeUp::new().with_frames(frame).with_damon("vaddr\n", 1);
    made.write("mm/damon/admin/kdamonds/0/state", "on\n");
    for source in [HeatSource::Damon, HeatSource::DamonPhysical] {
        let refused = made.measure(Some(source)).unwrap_err();
        assert!(refused[0].reason.contains("DAMON is in use"), "{refused:?}");
    }
    let all = "mm/damon/admin/kdamonds";
    assert_eq!(made.read(&format!("{all}/nr_kdamonds")), "1\n");
    assert_eq!(made.read(&format!("{all}/0/state")), "on\n");
}

#[test]
fn without_other_sources_mappings_are_what_is_left() {
    let made = MadeUp::new();
    made.write("proc/7/clear_refs", "");
    made.write(
        "proc/7/smaps",
        "1000000-1c00000 rw-p 00000000 00:00 0 \nRss: 12288 kB\nReferenced: 4096 kB\n",
    );
    let heat = made.measure(None).unwrap();
    assert_eq!((heat.source, heat.blocks.len()), (HeatSource::Mappings, 0));
    assert_eq!(heat.mappings[0].referenced_bytes, 4 << 20);
    assert_eq!(made.read("proc/7/clear_refs"), "1\n");
    let refused: Vec<_> = heat.refused.iter().map(|no| no.source_of).collect();
    assert_eq!(refused, HeatSource::ALL[..4]);
    assert!(heat.refused.iter().all(|no| !no.reason.is_empty()));
}

/// A program that uses some blocks all the time, has used others once, and leaves the rest alone.
struct FakeProgram {
    busy: std::ops::Range<u64>,
    once: Mutex<std::collections::BTreeSet<u64>>,
    /// The block that is cooled now.
    cooled: Mutex<std::ops::Range<u64>>,
}

impl Coolable for FakeProgram {
    fn cool(&self, blocks: std::ops::Range<u64>) -> Result<(), KernelError> {
        self.once
            .lock()
            .unwrap()
            .retain(|block| !blocks.contains(block));
        *self.cooled.lock().unwrap() = blocks;
        Ok(())
    }

    fn referenced(&self) -> Result<u64, String> {
        // A count takes some time, in which marks may be made.
        let marked = std::mem::take(&mut *self.cooled.lock().unwrap());
        let before = self.busy.clone().filter(|block| !marked.contains(block));
        std::thread::sleep(Duration::from_millis(2));
        let blocks = before.count() + self.once.lock().unwrap().len();
        Ok(blocks as u64 * BLOCK_BYTES)
    }
}

#[test]
fn cooling_finds_blocks_in_constant_use_and_blocks_used_once() {
    let program = || FakeProgram {
        busy: HOT,
        once: Mutex::new([FIRST].into()),
        cooled: Mutex::default(),
    };
    let alone = located(&program(), &memory(), 1).unwrap();
    let used: Vec<u64> = (alone.iter().filter(|block| block.used > 0))
        .map(|block| block.block)
        .collect();
    assert_eq!(used, [FIRST, HOT.start, HOT.start + 1]);
    assert!(alone.iter().all(|block| [0, 512].contains(&block.used)));
    // Two blocks together have one figure, which both share.
    let pairs = located(&program(), &memory(), 2).unwrap();
    let used: Vec<u16> = pairs.iter().map(|block| block.used).collect();
    assert_eq!(used, [256, 256, 512, 512, 0, 0]);
}

/// A program whose first block is locked.
struct LockedProgram(FakeProgram);

impl Coolable for LockedProgram {
    fn cool(&self, blocks: std::ops::Range<u64>) -> Result<(), KernelError> {
        match blocks.contains(&FIRST) {
            true => Err(KernelError::NotAllowed),
            false => self.0.cool(blocks),
        }
    }

    fn referenced(&self) -> Result<u64, String> {
        self.0.referenced()
    }
}

#[test]
fn the_use_of_locked_blocks_is_unknown() {
    let program = LockedProgram(FakeProgram {
        busy: HOT,
        once: Mutex::default(),
        cooled: Mutex::default(),
    });
    let found = located(&program, &memory(), 1).unwrap();
    assert_eq!(found[0].block, FIRST + 1);
    assert_eq!(found.len() as u64, BLOCKS - 1);
    assert_eq!(hot(&found), [(HOT.start, 512), (HOT.start + 1, 512)]);
}
