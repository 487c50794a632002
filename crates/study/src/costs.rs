//! The costs of the frame-level model: parsing and printing.

use std::collections::BTreeMap;

use broadleaf_model::Costs;

/// The maximum cost, in cycles: a third of a second, far below any overflow of sums.
const MOST: u64 = 1_000_000_000;

/// The accessor of a cost.
type CostField = fn(&mut Costs) -> &mut u64;

/// The costs by name.
const NAMES: [(&str, CostField); 17] = [
    ("fault", |costs| &mut costs.fault),
    ("zero-kib", |costs| &mut costs.zero_kib),
    ("copy-kib", |costs| &mut costs.copy_kib),
    ("disk", |costs| &mut costs.disk),
    ("promotion", |costs| &mut costs.promotion),
    ("promotion-page", |costs| &mut costs.promotion_page),
    ("demotion", |costs| &mut costs.demotion),
    ("migration", |costs| &mut costs.migration),
    ("find", |costs| &mut costs.find),
    ("lock", |costs| &mut costs.lock),
    ("free", |costs| &mut costs.free),
    ("invalidate", |costs| &mut costs.invalidate),
    ("shootdown", |costs| &mut costs.shootdown),
    ("extent", |costs| &mut costs.extent),
    ("digest-kib", |costs| &mut costs.digest_kib),
    ("prefetch", |costs| &mut costs.prefetch),
    ("capacity", |costs| &mut costs.capacity),
];

/// Reads costs such as `disk=30000,fault=900`. Other costs have their defaults.
///
/// # Errors
/// If a cost is unknown, is given twice or has no number of cycles.
pub fn costs(text: &str) -> Result<Costs, String> {
    let mut costs = Costs::default();
    let mut given: Vec<&str> = Vec::new();
    for part in text.split(',') {
        let (name, cycles) = part.split_once('=').ok_or_else(|| {
            format!("{part:?} is no cost: write NAME=CYCLES, as in disk=30000; {NAMED}")
        })?;
        let (name, cycles) = (name.trim(), cycles.trim());
        let Some((name, field)) = NAMES.iter().find(|(known, _)| *known == name) else {
            return Err(format!("no cost is called {name:?}; {NAMED}"));
        };
        if given.contains(name) {
            return Err(format!("{name} is given twice; {NAMED}"));
        }
        given.push(name);
        let number = cycles.parse().ok().filter(|cycles| *cycles <= MOST);
        *field(&mut costs) = number.ok_or_else(|| {
            format!("{name}={cycles}: a cost is a whole number of cycles, at most {MOST}; {NAMED}")
        })?;
    }
    Ok(costs)
}

/// The list of names in errors.
const NAMED: &str = "the costs are fault, zero-kib, copy-kib, disk, promotion, promotion-page, \
                     demotion, migration, find, lock, free, invalidate, shootdown, extent, \
                     digest-kib, prefetch and capacity";

/// Returns the costs by name.
pub(crate) fn by_name(costs: &Costs) -> BTreeMap<String, u64> {
    let mut costs = *costs;
    let named = NAMES.map(|(name, field)| (name.to_owned(), *field(&mut costs)));
    named.into_iter().collect()
}

/// Returns the names of the costs that differ from the defaults.
pub fn changed(costs: &Costs) -> Vec<String> {
    let (asked, usual) = (by_name(costs), by_name(&Costs::default()));
    let names = NAMES.map(|(name, _)| name.to_owned()).into_iter();
    names
        .filter(|name| asked.get(name) != usual.get(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_parsed() {
        let all = "fault=1,zero-kib=2,copy-kib=3,disk=4,promotion=5,promotion-page=10,demotion=6,\
                   migration=7,find=12,lock=13,free=14,invalidate=15,shootdown=16,extent=17,\
                   digest-kib=11,prefetch=8,capacity=9";
        let expected = Costs {
            fault: 1,
            zero_kib: 2,
            copy_kib: 3,
            disk: 4,
            promotion: 5,
            promotion_page: 10,
            demotion: 6,
            migration: 7,
            find: 12,
            lock: 13,
            free: 14,
            invalidate: 15,
            shootdown: 16,
            extent: 17,
            digest_kib: 11,
            prefetch: 8,
            capacity: 9,
        };
        assert_eq!(costs(all), Ok(expected));
        let some = costs(" disk = 9 , fault = 1500").unwrap();
        let usual = Costs::default();
        assert_eq!(some, Costs { disk: 9, ..usual });
        assert_eq!(changed(&some), ["disk"]);
        assert_eq!(changed(&usual), [""; 0]);
        assert_eq!(by_name(&expected)["copy-kib"], 3);
    }

    #[test]
    fn errors_name_all_that_has_a_cost() {
        for text in [
            "",
            "disk",
            "=",
            "disk=",
            "disk=-1",
            "disk=1.5",
            "disk=1000000001",
            "dsk=1",
            "disk=1,",
            "disk=1,disk=2",
        ] {
            let error = costs(text).unwrap_err();
            let names = NAMES.iter().all(|(name, _)| error.contains(name));
            assert!(names, "{text}: {error}");
        }
    }
}
