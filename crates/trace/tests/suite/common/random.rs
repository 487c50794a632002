//! Random traces.
#![allow(dead_code)]

use broadleaf_trace::{
    Advice, Allocation, Backing, Border, Event, FaultStep, GuestLeaf, Invalidation, KernelEvent,
    KernelTouch, Lead, Mapping, RESERVED_BYTES, Range, Site, SiteFrame, SystemEvent, TouchOrigin,
    Visit, WindowBorder,
};
use broadleaf_units::{CoreId, FileId, Rights, SiteId, SpaceId, ThreadId, VirtAddr};
use proptest::prelude::*;

use super::TestItem;

fn range() -> impl Strategy<Value = Range> {
    (0u64..1 << 35, 0u64..1 << 20).prop_map(|(start, len)| Range {
        start: VirtAddr(start << 12),
        len: len << 12,
    })
}

fn protection() -> impl Strategy<Value = Rights> {
    any::<(bool, bool, bool)>().prop_map(|(read, write, execute)| Rights {
        read,
        write,
        execute,
    })
}

fn backing() -> impl Strategy<Value = Backing> {
    prop_oneof![
        Just(Backing::Anonymous),
        Just(Backing::Heap),
        Just(Backing::Stack),
        Just(Backing::SharedMemory),
        any::<(u32, u64)>().prop_map(|(file, offset)| Backing::File {
            file: FileId(file),
            offset
        }),
        Just(Backing::Kernel),
    ]
}

fn advice() -> impl Strategy<Value = Advice> {
    prop_oneof![
        Just(Advice::DontNeed),
        Just(Advice::Free),
        Just(Advice::Remove),
        Just(Advice::HugePage),
        Just(Advice::NoHugePage),
        prop_oneof![Just(-1), Just(0), Just(25), Just(i32::MAX)].prop_map(Advice::Other),
    ]
}

fn populate() -> impl Strategy<Value = Event> {
    use KernelTouch::{AsMapped, Collapse, Load, Store};
    let touch = prop_oneof![Just(Load), Just(Store), Just(AsMapped), Just(Collapse)];
    let origin = prop_oneof![
        Just(TouchOrigin::Request),
        Just(TouchOrigin::Buffer),
        Just(TouchOrigin::Gap)
    ];
    (range(), touch, origin).prop_map(|(range, touch, origin)| Event::Populate {
        range: Range {
            len: range.len.min(Event::MOST_POPULATED),
            ..range
        },
        touch,
        origin,
    })
}

/// An event of an instrumented kernel.
fn kernel_event() -> impl Strategy<Value = Event> {
    let numbers = (any::<u32>(), 0..13u64, any::<u64>(), any::<u64>(), 0..4u64);
    numbers.prop_map(|(space, action, start, len, more)| {
        let block = start & !(RESERVED_BYTES - 1);
        let arguments = [block, len.min(!block), more];
        let event = KernelEvent::of_numbers(SpaceId(space), action, arguments);
        Event::Kernel(event.expect("possible arguments"))
    })
}

/// An event of a whole system.
fn system_event() -> impl Strategy<Value = SystemEvent> {
    let leaf = (any::<u64>(), 0..3usize, any::<u64>(), any::<[bool; 4]>());
    prop_oneof![
        any::<u32>().prop_map(|space| SystemEvent::Space(SpaceId(space))),
        Just(SystemEvent::SpaceEnd),
        leaf.prop_map(|(start, size, physical, [write, execute, user, global])| {
            let shift = [12, 21, 30][size];
            let unit = u64::MAX << shift.min(21);
            SystemEvent::Leaf(GuestLeaf {
                start: VirtAddr(start & unit),
                shift,
                physical: physical & unit,
                rights: Rights {
                    read: true,
                    write,
                    execute,
                },
                user,
                global,
            })
        }),
        any::<u64>().prop_map(|at| SystemEvent::Invalidate(Invalidation::Page(VirtAddr(at)))),
        Just(SystemEvent::Invalidate(Invalidation::UnknownPage)),
        Just(SystemEvent::Invalidate(Invalidation::Space)),
        Just(SystemEvent::Invalidate(Invalidation::Everything)),
        Just(SystemEvent::PageFault(FaultStep::Exception)),
        Just(SystemEvent::PageFault(FaultStep::Handled)),
        any::<bool>().prop_map(SystemEvent::Privilege),
    ]
}

fn site(text: &'static str) -> impl Strategy<Value = Event> {
    let frame = (text, text, any::<u32>()).prop_map(|(function, file, line)| SiteFrame {
        function,
        file,
        line,
    });
    (any::<u32>(), text, prop::collection::vec(frame, 0..4))
        .prop_map(|(id, allocator, frames)| Event::Site(SiteId(id), Site { allocator, frames }))
}

fn border() -> impl Strategy<Value = Event> {
    let border = prop_oneof![
        any::<u64>().prop_map(Border::Start),
        Just(Border::End),
        Just(Border::Total)
    ];
    (border, any::<u64>(), any::<u64>()).prop_map(|(border, accesses, instructions)| {
        Event::Window(WindowBorder {
            border,
            accesses,
            instructions,
        })
    })
}

/// Any event except a switch of spaces.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    let text = "[a-zé/ ]{0,12}";
    prop_oneof![
        (range(), protection(), any::<bool>(), backing()).prop_map(
            |(range, protection, shared, backing)| Event::Map(Mapping {
                range,
                protection,
                shared,
                backing
            })
        ),
        range().prop_map(Event::Unmap),
        (range(), protection()).prop_map(|(range, protection)| Event::Protect(range, protection)),
        (range(), range()).prop_map(|(from, to)| Event::Remap { from, to }),
        (range(), advice()).prop_map(|(range, advice)| Event::Advise(range, advice)),
        populate(),
        range().prop_map(Event::Brk),
        range().prop_map(Event::StackGrow),
        (any::<u32>(), any::<u64>(), text).prop_map(|(id, size, path)| Event::File {
            id: FileId(id),
            size,
            path
        }),
        (range(), any::<u64>()).prop_map(|(at, native)| Event::Misplaced {
            at,
            native: VirtAddr(native)
        }),
        (
            any::<u32>(),
            any::<u32>(),
            prop::collection::vec(text, 0..4)
        )
            .prop_map(|(pid, parent, command)| Event::SpaceStart {
                pid,
                parent,
                command
            }),
        any::<u32>().prop_map(|child| Event::Fork { child }),
        text.prop_map(|path| Event::Exec { path }),
        any::<Option<i32>>().prop_map(|status| Event::SpaceEnd { status }),
        any::<u32>().prop_map(|thread| Event::ThreadStart(ThreadId(thread))),
        any::<u32>().prop_map(|thread| Event::ThreadSwitch(ThreadId(thread))),
        any::<u32>().prop_map(|core| Event::CoreSwitch(CoreId(core))),
        system_event().prop_map(Event::System),
        kernel_event(),
        site(text),
        border(),
        (any::<u32>(), range(), any::<u64>(), any::<u64>()).prop_map(
            |(site, range, count, bytes)| Event::Allocation(Allocation {
                site: SiteId(site),
                start: range.start,
                len: range.len,
                count,
                bytes,
            })
        ),
        any::<u32>().prop_map(|thread| Event::ThreadEnd(ThreadId(thread))),
    ]
}

/// Mostly few units, so that many predictions come true.
fn unit() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0u64..6,
        2 => 0u64..5000,
        1 => 0u64..1 << 51,
        1 => Just((1 << 52) - 8),
    ]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0u32..3, 2 => 0u32..40, 1 => 0u32..100_000]
}

/// A visit without a lead. The visit may have no access.
fn visit(instruction_pages: bool) -> impl Strategy<Value = Visit> {
    (unit(), count(), count(), count(), any::<u32>()).prop_map(
        move |(unit, loads, stores, instructions, seed)| Visit {
            unit,
            loads,
            stores,
            loads_before_store: match stores {
                0 => loads,
                _ => seed % (loads + 1),
            },
            instructions: if instruction_pages { 0 } else { instructions },
            ..Visit::default()
        },
    )
}

/// A visit whose last access reaches into further units.
fn straddling(instruction_pages: bool) -> impl Strategy<Value = Vec<Visit>> {
    (
        visit(instruction_pages),
        1u64..4,
        any::<bool>(),
        visit(instruction_pages),
    )
        .prop_map(|(mut first, reach, store, after)| {
            let lead = if store {
                first.stores += 1;
                if first.stores == 1 {
                    first.loads_before_store = first.loads;
                }
                Lead::Store
            } else {
                first.loads += 1;
                if first.stores == 0 {
                    first.loads_before_store = first.loads;
                }
                Lead::Load
            };
            // A final load comes after the first store.
            if !store && first.stores > 0 {
                first.loads_before_store = first.loads_before_store.min(first.loads - 1);
            }
            let mut visits = vec![first];
            visits.extend((1..=reach).map(|further| Visit {
                unit: first.unit + further,
                lead,
                ..Visit::default()
            }));
            let last = visits.last_mut().expect("there is one");
            *last = Visit {
                unit: last.unit,
                lead,
                ..after
            };
            visits
        })
}

fn fetches() -> impl Strategy<Value = Visit> {
    (unit(), count()).prop_map(|(unit, instructions)| Visit {
        unit,
        instructions,
        fetch: true,
        ..Visit::default()
    })
}

fn some_visits(instruction_pages: bool) -> BoxedStrategy<Vec<Visit>> {
    let one = visit(instruction_pages).prop_map(|visit| vec![visit]);
    let straddling = straddling(instruction_pages);
    // Traces consist of loops.
    let inner = prop_oneof![6 => one, 1 => straddling].boxed();
    let inner = if instruction_pages {
        prop_oneof![1 => inner, 1 => fetches().prop_map(|visit| vec![visit])].boxed()
    } else {
        inner
    };
    let looped = (prop::collection::vec(inner.clone(), 1..6), 1usize..40)
        .prop_map(|(body, times)| body.concat().repeat(times));
    prop_oneof![3 => inner, 2 => looped].boxed()
}

/// A trace of any items.
pub(crate) fn trace(instruction_pages: bool) -> BoxedStrategy<Vec<TestItem>> {
    let visits = some_visits(instruction_pages)
        .prop_map(|visits| visits.into_iter().map(TestItem::Visit).collect::<Vec<_>>());
    let event = event().prop_map(|event| vec![TestItem::Event(event)]);
    let switch =
        (0u32..3).prop_map(|space| vec![TestItem::Event(Event::SpaceSwitch(SpaceId(space)))]);
    let pieces = prop_oneof![6 => visits, 1 => event, 1 => switch];
    prop::collection::vec(pieces, 0..40)
        .prop_map(|pieces| pieces.concat())
        .boxed()
}
