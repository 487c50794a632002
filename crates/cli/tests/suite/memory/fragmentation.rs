//! Memory that is fragmented when the program begins.

use super::*;

/// A store to each of 72 blocks, in memory of 80.
fn blocks(folder: &Path) -> String {
    let lines = (0..72).map(|block| format!(" S {:x},8\n", 0x4000_0000_u64 + (block << 21)));
    file(
        folder,
        "blocks.lackey",
        lines.collect::<String>().as_bytes(),
    )
}

#[test]
fn superpages_fall_gradually_with_fragmentation() {
    let trace = blocks(&folder("fragmentation"));
    for seed in ["1", "2", "5"] {
        let promotions = |percent: u64| {
            let share = format!("{percent}%");
            let output = run(&[
                "compare",
                &trace,
                "--policy=thp-always",
                "--memory=160M",
                "--movable=0%",
                "--format=json",
                "--seed",
                seed,
                "--fragmentation",
                &share,
            ]);
            let answer: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
            answer["results"][0]["promotions"]
                .as_u64()
                .expect("a count")
        };
        let falling: Vec<u64> = (0..=10).rev().map(|step| promotions(10 * step)).collect();
        assert!(falling[0] >= 70 && falling[10] == 0, "{falling:?}");
        for pair in falling.windows(2) {
            let fewer = pair[0].checked_sub(pair[1]);
            assert!(fewer.is_some_and(|fewer| fewer <= 10), "{falling:?}");
        }
        assert!(
            falling.windows(2).filter(|pair| pair[0] > pair[1]).count() >= 8,
            "{falling:?}"
        );
    }
}

#[test]
fn five_percent_occupied_are_no_cliff() {
    let trace = blocks(&folder("five-percent"));
    let output = run(&[
        "compare",
        &trace,
        "--policy=thp-always",
        "--memory=160M",
        "--occupied=5%",
        "--movable=0%",
        "--format=json",
    ]);
    let answer: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
    let promotions = answer["results"][0]["promotions"]
        .as_u64()
        .expect("a count");
    assert!(promotions >= 60, "{promotions}");
}

#[test]
fn frames_add_up_from_outside() {
    let output = run(&[
        "compare",
        &golden("sort.bl"),
        "--policy=greedy,navarro,linux",
        "--memory=75%",
        "--occupied=10%",
        "--format=json",
    ]);
    let answer: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
    let frames = answer["memory"]["bytes"].as_u64().expect("a size") / 4096;
    let mut cached = 0;
    for result in answer["results"].as_array().expect("results") {
        let samples = result["over_time"].as_array().expect("samples");
        for sample in samples.iter().chain([&result["at_peak"]]) {
            let of = |name: &str| sample[name].as_u64().expect("a count");
            let classes = [
                "free_frames",
                "mapped_frames",
                "file_cache_frames",
                "reserved_frames",
                "wired_frames",
                "occupied_frames",
            ];
            assert_eq!(classes.map(of).iter().sum::<u64>(), frames, "{sample}");
            cached += of("file_cache_frames");
        }
    }
    assert!(cached > 0, "the test sees no cache");
}

#[test]
fn a_pagetypeinfo_is_where_memory_begins() {
    let folder = folder("pagetypeinfo");
    let types = file(&folder, "types", b"\
Free pages count per migrate type at order       0      1      2      3      4      5      6      7      8      9     10
Node    0, zone   Normal, type    Unmovable     40     30     20     10      5      0      0      0      0      0      0
Node    0, zone   Normal, type      Movable      7      6      5      4      3      2      1      9      8      7      6
Node    0, zone   Normal, type  Reclaimable      1      2      3      4      5      6      0      0      0      0      0
Number of blocks type     Unmovable      Movable  Reclaimable
Node 0, zone   Normal            5           50            9
");
    let answer = json(&["--memory=256M", "--pagetypeinfo", &types]);
    assert_eq!(answer["memory"]["start"], "recorded by type");
    let text = refused(&compare(&["--memory=16M", "--pagetypeinfo", &types]));
    assert!(
        text.contains("too small") && text.contains("would do"),
        "{text}"
    );
    let wrong = file(
        &folder,
        "wrong",
        b"Node 0, zone Normal, type Movable 1 2 x\n",
    );
    let text = refused(&compare(&["--memory=64M", "--pagetypeinfo", &wrong]));
    assert!(text.contains(&wrong) && text.contains("line 1"), "{text}");
}

#[test]
fn without_a_size_memory_is_as_large_as_the_pageblocks_of_the_file() {
    let folder = folder("pagetypeinfo-size");
    let head = "\
Page block order: 9
Pages per block:  512
Node    0, zone   Normal, type      Movable      7      6      5      4      3      2      1      9      8      7      6
";
    let blocks = "\
Number of blocks type     Unmovable      Movable  Reclaimable
Node 0, zone   Normal            5          114            9
";
    let types = file(&folder, "types", format!("{head}{blocks}").as_bytes());
    let answer = json(&["--pagetypeinfo", &types, "--swap=0%"]);
    assert_eq!(answer["memory"]["bytes"], 128 * (2 << 20));
    let text = succeeded(&compare(&["--pagetypeinfo", &types]));
    assert!(
        text.contains("Memory: 256 MiB, at first as recorded"),
        "{text}"
    );
    let note =
        format!("Note: memory is 256 MiB, the total of the pageblocks in the file \"{types}\"");
    assert!(text.contains(&note), "{text}");
    let sized = succeeded(&compare(&["--memory=256M", "--pagetypeinfo", &types]));
    assert!(!sized.contains("pageblocks"), "{sized}");
    let unknown = file(&folder, "unknown", head.as_bytes());
    let text = refused(&compare(&["--pagetypeinfo", &unknown]));
    assert!(text.contains("give --memory SIZE"), "{text}");
}

#[test]
fn fragmentation_of_memory_without_a_block_is_said_to_have_no_effect() {
    let said = |memory: &[&str]| {
        let text = succeeded(&compare(memory));
        let line = text.lines().find(|line| line.starts_with("Memory: "));
        line.expect("how much memory there is").to_owned()
    };
    let small = said(&["--memory=1M", "--fragmentation=50%"]);
    let expected =
        "Memory: 1.00 MiB, empty at first, as it holds no block of 2 MiB for --fragmentation";
    assert!(small.starts_with(expected), "{small}");
    assert!(!small.contains("50% of what is free"), "{small}");
    let occupied = said(&["--memory=1M", "--fragmentation=50%", "--occupied=25%"]);
    assert!(
        occupied.contains(" 25% of it occupied at first, without --fragmentation"),
        "{occupied}"
    );
    let large = said(&["--memory=64M", "--fragmentation=50%"]);
    assert!(
        large.contains("50% of what is free lies in free blocks"),
        "{large}"
    );
}
