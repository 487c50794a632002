//! The thread that measures for a governor.

use super::*;
use crate::kernel::Kernel;
use std::sync::mpsc::channel;
use std::time::Instant;

const NUMBER: &str = "mm/damon/admin/kdamonds/nr_kdamonds";

/// This process, with the files of a made-up DAMON.
fn own() -> ProcessId {
    Linux::new().process(std::process::id()).unwrap()
}

fn meter(made: &MadeUp) -> HeatMeter {
    HeatMeter::at("/proc".into(), made.mm())
}

/// Waits until a function returns a value.
fn until<T>(mut value: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it takes long");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_sampler_that_ends_leaves_no_kdamond() {
    let made = MadeUp::new().with_damon("vaddr\n", 0);
    let hour = Duration::from_secs(3600);
    let sampler =
        HeatSampler::with_window(meter(&made), vec![HeatSource::Damon], hour, |_, change| {
            panic!("{change:?}")
        });
    assert_eq!(sampler.exchange(own(), &memory()), None);
    let is_on = || fs::read(made.mm().join("damon/admin/kdamonds/0/state")).ok();
    until(|| is_on().filter(|state| state == b"on"));
    assert_eq!(made.read(NUMBER), "1");
    drop(sampler);
    assert_eq!(made.read(NUMBER), "0");
}

#[test]
fn a_source_that_fails_is_noted_and_its_old_results_are_dropped() {
    let made = MadeUp::new()
        .with_damon("vaddr\n", 0)
        .with_region(0, 0, u64::MAX, 9);
    let (noted, notes) = channel();
    let note = move |process: ProcessId, change: HeatChange<'_>| {
        assert_eq!(change.source, None);
        noted.send((process, change.reason.to_owned())).unwrap();
    };
    let sampler = HeatSampler::with_window(meter(&made), vec![HeatSource::Damon], SHORT, note);
    let measured = || until(|| sampler.exchange(own(), &memory()));
    assert_eq!(hot(&measured()).len() as u64, BLOCKS);
    assert!(notes.try_recv().is_err());
    // Another program takes DAMON. This process may be just about to remove its own kdamond.
    let broken = made.mm().join("damon/admin/kdamonds/0/contexts/0");
    fs::rename(&broken, made.mm().join("elsewhere")).unwrap();
    assert_eq!(until(|| Some(measured()).filter(Vec::is_empty)), Vec::new());
    let (process, reason) = notes.recv().unwrap();
    assert_eq!(process, own());
    assert!(reason.starts_with("damon: "), "{reason}");
    // The first failure may be that of a measurement that had begun.
    assert!(notes.try_iter().count() <= 1);
    fs::rename(made.mm().join("elsewhere"), broken).unwrap();
    assert_eq!(hot(&measured()).len() as u64, BLOCKS);
}

/// A coarser source measures a process where the first one fails, which is tried again later.
#[test]
fn a_process_that_the_first_source_cannot_measure_has_the_next_for_a_while() {
    let made = MadeUp::new()
        .with_damon("paddr vaddr\n", 0)
        .with_region(0, 0, u64::MAX, 9);
    let (noted, notes) = channel();
    let note = move |process: ProcessId, change: HeatChange<'_>| {
        assert_eq!(process, own());
        noted
            .send((change.source, change.reason.to_owned()))
            .unwrap();
    };
    // The bits of idle pages are missing.
    let sources = vec![HeatSource::IdlePages, HeatSource::Damon];
    let sampler = HeatSampler::with_window(meter(&made), sources, SHORT, note);
    let began = Instant::now();
    let measured = || until(|| sampler.exchange(own(), &memory()));
    for _ in 0..3 {
        assert_eq!(hot(&measured()).len() as u64, BLOCKS);
    }
    let (source, reason) = notes.recv().unwrap();
    assert_eq!(source, Some(HeatSource::Damon));
    assert!(reason.starts_with("idle-pages: "), "{reason}");
    // The bits appear. No memory of this process lies there, so no page is used.
    made.write("mm/page_idle/bitmap", "");
    until(|| Some(measured()).filter(|blocks| hot(blocks).is_empty()));
    assert!(began.elapsed() >= SHORT * 60);
    let expected = (Some(HeatSource::IdlePages), String::new());
    assert_eq!(notes.recv().unwrap(), expected);
    assert!(notes.try_recv().is_err());
}

#[test]
fn processes_without_whole_blocks_are_not_measured() {
    let made = MadeUp::new();
    let (noted, notes) = channel();
    let note = move |_: ProcessId, change: HeatChange<'_>| {
        noted.send(change.reason.to_owned()).unwrap();
    };
    let sampler = HeatSampler::with_window(meter(&made), vec![HeatSource::Cooling], SHORT, note);
    sampler.exchange(own(), &LivePages::default());
    std::thread::sleep(SHORT);
    drop(sampler);
    assert!(notes.try_recv().is_err());
}

/// Measurements that no governor takes any more do not stay for ever.
#[test]
fn processes_that_are_not_wanted_any_more_are_forgotten() {
    let made = MadeUp::new()
        .with_damon("vaddr\n", 0)
        .with_region(0, 0, u64::MAX, 9);
    let sampler =
        HeatSampler::with_window(meter(&made), vec![HeatSource::Damon], SHORT, |_, change| {
            panic!("{change:?}")
        });
    assert_eq!(sampler.exchange(own(), &memory()), None);
    until(|| sampler.has(own()).then_some(()));
    sampler.retain(|process| process == own());
    assert!(sampler.has(own()));
    sampler.retain(|process| process != own());
    assert!(!sampler.has(own()));
    assert_eq!(sampler.exchange(own(), &memory()), None);
}
