//! The requirements of a policy that is a Python class.

use broadleaf_policy::{
    Charges, Copies, Foresight, Needs, PageDaemon, Placement, PromotionOrder, Scan, StoreToShared,
    parse,
};
use broadleaf_units::SizeSet;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::invalid;
use crate::words::value_of;

const PLACEMENTS: [(&str, Placement); 2] = [
    ("reserved", Placement::Reserved),
    ("at_fault", Placement::AtFault),
];
const COPIES: [(&str, Copies); 3] = [
    ("never", Copies::Never),
    ("scattered", Copies::Scattered),
    ("always", Copies::Always),
];
const ORDERS: [(&str, PromotionOrder); 3] = [
    ("by_address", PromotionOrder::ByAddress),
    ("by_rank", PromotionOrder::ByRank),
    ("fair", PromotionOrder::Fair),
];
const DAEMONS: [(&str, PageDaemon); 3] = [
    ("oldest_first", PageDaemon::OldestFirst),
    ("completing_blocks", PageDaemon::CompletingBlocks),
    ("for_contiguity", PageDaemon::ForContiguity),
];
const STORES: [(&str, StoreToShared); 3] = [
    ("page", StoreToShared::Page),
    ("placed", StoreToShared::Placed),
    ("superpage", StoreToShared::Superpage),
];

/// The setter of one field of [`Needs`].
type SetNeed = fn(&mut Needs, &Bound<'_, PyAny>) -> PyResult<()>;

/// The fields that a plain value of their type sets.
const PLAIN: [(&str, SetNeed); 21] = [
    ("asked_at_age", |needs, value| {
        set(&mut needs.asked_at_age, value)
    }),
    ("random_frames", |needs, value| {
        set(&mut needs.random_frames, value)
    }),
    ("allocates_sizes", |needs, value| {
        set(&mut needs.allocates_sizes, value)
    }),
    ("every_size", |needs, value| {
        set(&mut needs.every_size, value)
    }),
    ("gathers", |needs, value| set(&mut needs.gathers, value)),
    ("files_stay", |needs, value| {
        set(&mut needs.files_stay, value)
    }),
    ("asked_when_short", |needs, value| {
        set(&mut needs.asked_when_short, value)
    }),
    ("asked_when_freed", |needs, value| {
        set(&mut needs.asked_when_freed, value)
    }),
    ("asked_when_used_again", |needs, value| {
        set(&mut needs.asked_when_used_again, value)
    }),
    ("keeps_prefetch_charges", |needs, value| {
        set(&mut needs.keeps_prefetch_charges, value)
    }),
    ("keeps_capacity_charges", |needs, value| {
        set(&mut needs.keeps_capacity_charges, value)
    }),
    ("deferral", |needs, value| set(&mut needs.deferral, value)),
    ("idle_below", |needs, value| {
        set(&mut needs.idle_below, value)
    }),
    ("early_restart", |needs, value| {
        set(&mut needs.early_restart, value)
    }),
    ("odd_sizes", |needs, value| set(&mut needs.odd_sizes, value)),
    ("fault_around", |needs, value| {
        set(&mut needs.fault_around, value)
    }),
    ("zero_page", |needs, value| set(&mut needs.zero_page, value)),
    ("zeroed_ahead", |needs, value| {
        set(&mut needs.zeroed_ahead, value)
    }),
    ("wires_together", |needs, value| {
        set(&mut needs.wires_together, value)
    }),
    ("obeys_collapse", |needs, value| {
        set(&mut needs.obeys_collapse, value)
    }),
    ("sees_frames", |needs, value| {
        set(&mut needs.sees_frames, value)
    }),
];

/// The fields that words, sets and tables set.
const OTHERS: [&str; 8] = [
    "like",
    "placement",
    "sizes",
    "copies",
    "scan",
    "charges",
    "daemon",
    "store_to_shared",
];

fn set<'py, T>(field: &mut T, value: &Bound<'py, PyAny>) -> PyResult<()>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    *field = value.extract().map_err(Into::into)?;
    Ok(())
}

/// Reads the attribute `needs` of a policy: the name of a policy of the catalogue, whose
/// requirements it takes, or a dict of requirements.
///
/// # Errors
/// `InvalidInput` if a key or a value is unknown.
pub(crate) fn needs_of(py: Python<'_>, name: &str, given: &Bound<'_, PyAny>) -> PyResult<Needs> {
    if let Ok(like) = given.cast::<PyString>() {
        return like_policy(py, name, &like.to_cow()?);
    }
    let given = given.cast::<PyDict>().map_err(|_| {
        invalid(
            py,
            format!("policy {name}: needs is a dict, or the name of a policy with such needs"),
        )
    })?;
    let mut needs = match given.get_item("like")? {
        Some(like) => like_policy(py, name, &like.extract::<String>()?)?,
        None => Needs::default(),
    };
    for (key, value) in given {
        let key: String = key.extract()?;
        if let Some((_, set)) = PLAIN.iter().find(|(known, _)| *known == key) {
            set(&mut needs, &value)?;
            continue;
        }
        let word = || value.extract::<String>();
        match &*key {
            "like" => {}
            "placement" => needs.placement = value_of(py, &key, &word()?, &PLACEMENTS)?,
            "copies" => needs.copies = value_of(py, &key, &word()?, &COPIES)?,
            "daemon" => needs.daemon = value_of(py, &key, &word()?, &DAEMONS)?,
            "store_to_shared" => needs.store_to_shared = value_of(py, &key, &word()?, &STORES)?,
            "sizes" => needs.sizes = sizes(py, name, &value)?,
            "scan" => needs.scan = scan(py, name, &value)?,
            "charges" => needs.charges = charges(py, name, &value)?,
            other => {
                let known = PLAIN.iter().map(|(known, _)| *known).chain(OTHERS);
                return Err(unknown(py, name, "needs", other, known));
            }
        }
    }
    Ok(needs)
}

/// The requirements of a policy of the catalogue.
fn like_policy(py: Python<'_>, name: &str, like: &str) -> PyResult<Needs> {
    let policy = parse(like).map_err(|error| invalid(py, error))?;
    let needs = policy.needs();
    if needs.foresight != Foresight::None {
        return Err(invalid(
            py,
            format!("policy {name}: {like} knows the future, which no Python class is told"),
        ));
    }
    Ok(needs)
}

/// Reads page sizes: `all`, `none`, or sizes in bytes.
fn sizes(py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<SizeSet> {
    if let Ok(word) = value.cast::<PyString>() {
        // The notation of policies' names: `64k+2m`, `all`, `none`.
        let text = word.to_cow()?;
        let linux = parse(&format!("linux(sizes={text})"));
        return linux.map(|policy| policy.needs().sizes).map_err(|error| {
            let text = error.to_string();
            let text = text.replace(" of the policy linux", &format!(" of policy {name}"));
            invalid(py, text)
        });
    }
    let mut shifts = 0;
    for bytes in value.extract::<Vec<u64>>()? {
        if !bytes.is_power_of_two() || !(12..=39).contains(&bytes.trailing_zeros()) {
            return Err(invalid(
                py,
                format!("policy {name}: {bytes} bytes is no page size: sizes are powers of two"),
            ));
        }
        shifts |= bytes;
    }
    Ok(SizeSet::These(shifts))
}

/// Reads a daemon: `period` in accesses, `pages`, `promotions` and `order`.
fn scan(py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Scan>> {
    if value.is_none() {
        return Ok(None);
    }
    let mut scan = Scan {
        period: 0,
        pages: 0,
        promotions: 0,
        order: PromotionOrder::ByAddress,
    };
    for (key, value) in value.cast::<PyDict>()? {
        match &*key.extract::<String>()? {
            "period" => scan.period = value.extract()?,
            "pages" => scan.pages = value.extract()?,
            "promotions" => scan.promotions = value.extract()?,
            "order" => scan.order = value_of(py, "order", &value.extract::<String>()?, &ORDERS)?,
            other => {
                let known = ["period", "pages", "promotions", "order"];
                return Err(unknown(py, name, "scan", other, known.into_iter()));
            }
        }
    }
    if scan.period == 0 {
        return Err(invalid(
            py,
            format!("policy {name}: scan lacks its period, in accesses from 1 on"),
        ));
    }
    Ok(Some(scan))
}

/// Reads charges: any of `misses`, `prefetch` and `capacity`.
fn charges(py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Charges> {
    let mut charges = Charges::NONE;
    for word in value.extract::<Vec<String>>()? {
        match &*word {
            "misses" => charges.misses = true,
            "prefetch" => charges.prefetch = true,
            "capacity" => charges.capacity = true,
            other => {
                let known = ["misses", "prefetch", "capacity"];
                return Err(unknown(py, name, "charges", other, known.into_iter()));
            }
        }
    }
    Ok(charges)
}

fn unknown(
    py: Python<'_>,
    name: &str,
    table: &str,
    found: &str,
    known: impl Iterator<Item = &'static str>,
) -> PyErr {
    let known: Vec<&str> = known.collect();
    let known = known.join(", ");
    invalid(
        py,
        format!("policy {name}: {table} has no key {found:?} (there are {known})"),
    )
}
