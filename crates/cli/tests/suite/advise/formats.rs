//! The formats of advice: what each expresses, and what each says that it cannot.

use super::*;

/// Two processes, a heap that does not begin at a superpage, memory that was mapped where other
/// memory had been, a stack, and a file.
fn many_kinds() -> Vec<u8> {
    let (heap, stack, anonymous) = (0x100_1000, 0x7f0_0000_0000, 0x200_0000_0000);
    let pages = |start: u64, pages: u64| (0..pages).map(move |page| start + (page << 12));
    let mut used: Vec<u64> = Vec::new();
    for round in 0..40 {
        for part in 0..8 {
            used.extend(pages(0x120_0000 + 64 * 4096 * part, 64));
            used.extend(pages(stack - 2 * MIB + 64 * 4096 * part, 64));
            used.extend(pages(anonymous + 64 * 4096 * ((part + round) % 8), 64));
            used.extend(pages(0x300_0000_0000 + 64 * 4096 * part, 64));
            used.extend(pages(0x400_0000_0000 + 64 * 4096 * part, 64));
        }
    }
    let file = Backing::File {
        file: FileId(0),
        offset: 0x20_0000,
    };
    let events = [
        started(41, "/bin/one"),
        Event::Brk(range(heap, 0)),
        Event::Brk(range(heap, 0x4f_f000)),
        map(stack - 4 * MIB, 4 * MIB, Backing::Stack),
        // A pool places the last mapping at its first address.
        map(0x500_0000_0000, 3 * MIB, Backing::Anonymous),
        map(0x510_0000_0000, MIB, Backing::Anonymous),
        Event::Unmap(range(0x500_0000_0000, 3 * MIB)),
        map(anonymous, 2 * MIB, Backing::Anonymous),
        map(0x300_0000_0000, 2 * MIB, Backing::SharedMemory),
        Event::File {
            id: FileId(0),
            size: 8 * MIB,
            path: "/data/table".to_owned(),
        },
        map(0x400_0000_0000, 2 * MIB, file),
    ];
    let mut parts: Vec<Part> = events.into_iter().map(Part::Event).collect();
    parts.push(Part::Visits(stores(used)));
    let again = (0..60).flat_map(|_| pages(anonymous, 512));
    let other = [
        Event::SpaceSwitch(SpaceId(1)),
        started(42, "/bin/two"),
        map(anonymous, 2 * MIB, Backing::Anonymous),
    ];
    parts.extend(other.into_iter().map(Part::Event));
    parts.push(Part::Visits(stores(again)));
    recording(&parts)
}

#[test]
fn each_format_expresses_what_it_can_and_says_what_it_cannot() {
    let folder = folder("advise-kinds");
    let small = "name = \"small\"\nsummary = \"a test's\"\nexplanation = \"\"\n\
        source = \"a test\"\n\
        [[tlb]]\nname = \"dtb\"\nlevel = 1\nentries = 16\nways = 16\nreplacement = \"lru\"\n\
        index = { 4k = \"none\", 2m = \"none\" }\n\
        [walk-cycles]\n4k = 30\n2m = 30\n";
    let machine = file(&folder, "small.toml", small.as_bytes());
    let trace = file(&folder, "x.bl", &many_kinds());
    let advise = |format: &str| {
        let files = ["--files=memory", FREE, "--machine", &machine];
        let first = ["advise", &trace, "--format", format];
        run(&[&first[..], &files].concat())
    };
    let table = succeeded(&advise("table"));
    for text in [
        "\nprocess ",
        "\n41 one ",
        "\n42 two ",
        " heap 0x1001000-0x1500000\n",
        " stack 0x7efffc00000-0x7f000000000\n",
        " shared memory 0x30000000000-0x30000200000\n",
        " /data/table + 0x200000, 0x40000000000-0x40000200000\n",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let c = succeeded(&advise("madvise"));
    for text in [
        "\nmadvise((void *)0x1200000, 2097152, MADV_HUGEPAGE); /* process 41 one, \
         heap + 0x1ff000, 1 x 2 MiB, spares ",
        "\nmadvise((void *)0x7efffe00000, 2097152, MADV_HUGEPAGE); /* process 41 one, \
         stack, 0x200000 below its end, ",
        "/* process 41 one, shared memory 0x30000000000-0x30000200000 + 0x0, ",
        ", needs CONFIG_READ_ONLY_THP_FOR_FS and a file system that takes part */\n",
    ] {
        assert!(c.contains(text), "{text}: {c}");
    }
    let output = advise("cbmm");
    let profile = succeeded(&output);
    // One pass over 512 pages misses each time: 40 rounds, less the misses that are left.
    assert_eq!(profile.lines().count(), 4, "{profile}");
    for (line, says) in [
        ("huge,heap,", ",addr,>,0x1200000,addr,<,0x1400000"),
        ("huge,mmap,", ",addr,>,0x20000000000,addr,<,0x20000200000"),
    ] {
        let found = profile.lines().find(|text| text.starts_with(line));
        assert!(found.is_some(), "{profile}");
        assert!(profile.contains(says), "{says}: {profile}");
    }
    let notes = stderr(&output);
    assert!(
        notes.contains("those of one process, 41 one; left out are those of 42 two"),
        "{notes}"
    );
    assert!(
        notes.contains(
            "0x7efffe00000-0x7f000000000 of process 41 one is left out: a profile knows the heap"
        ),
        "{notes}"
    );
    // The best are the best that a format can express.
    let best = |format: &str, top: &str| {
        let first = ["advise", &trace, "--format", format, top];
        let files = ["--files=memory", FREE, "--machine", &machine];
        succeeded(&run(&[&first[..], &files].concat()))
    };
    assert_eq!(best("cbmm", "--top=4"), profile);
    assert_eq!(best("mosalloc", "--top=2").lines().count(), 6);
    assert_eq!(best("madvise", "--top=1").matches("\nmadvise(").count(), 1);
    let output = advise("mosalloc");
    assert_eq!(
        succeeded(&output),
        "type,pageSize,startOffset,endOffset\n\
         brk,-1,0,6291456\nmmap,-1,0,4194304\nfile,-1,0,2097152\n\
         brk,2097152,0,4194304\nmmap,2097152,0,2097152\n"
    );
    let notes = stderr(&output);
    assert_eq!(
        notes
            .matches(" is left out: a layout covers the heap")
            .count(),
        3,
        "{notes}"
    );
}
