//! Machines in files whose replacement rules know the future, beside policies that change it.

use broadleaf_machine::is_grid;
use broadleaf_policy::Policy;
use broadleaf_tlb::RuleNeed;

use crate::failure::Failure;
use crate::machines::{is_file, machine};
use crate::{in_file, names};

/// Refuses a replacement rule that knows the next use of each translation beside a policy that
/// decides at TLB misses. The names are those of `--machine`. Machines that are in no file are
/// refused by the plan, which knows no lines.
///
/// # Errors
/// [`Failure::Wrong`] with the file, the line and the key of the rule.
pub fn refuse_future(names: &[String], policies: &[Box<dyn Policy>]) -> Result<(), Failure> {
    let mut policies = policies.iter().map(Box::as_ref);
    let Some(policy) = policies.find(|policy| policy.needs().decides_by_misses()) else {
        return Ok(());
    };
    let words = names.iter().filter(|names| !is_grid(names));
    let words = words.flat_map(|names| names::apart(names)).map(str::trim);
    for file in words.filter(|word| is_file(word)) {
        let machine = machine(file)?;
        let mut structures = machine.design.structures().iter();
        let knows = structures.find(|of| of.replacement.entry().needs.contains(&RuleNeed::Future));
        let Some(structure) = knows else { continue };
        let rule = structure.replacement.entry().described.name;
        let text = in_file::read(std::path::Path::new(file))?;
        let line = line_of(&text, rule).map_or_else(String::new, |line| format!("line {line}, "));
        return Err(Failure::Wrong(format!(
            "{file}: {line}replacement: {rule} knows the next use of each translation, and the \
             policy {} decides at TLB misses, which changes the next uses: leave the policy out, \
             or choose another rule",
            policy.name()
        )));
    }
    Ok(())
}

/// The first line, from 1 on, that names a replacement rule.
fn line_of(text: &str, rule: &str) -> Option<usize> {
    let names_rule = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let is_rule = key.trim() == "replacement" && value.starts_with(rule);
        is_rule.then_some(())
    };
    let at = text.lines().position(|line| names_rule(line).is_some())?;
    Some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "name = \"opt\"\nsummary = \"a bound\"\n\n[[tlb]]\nname = \"first\"\n\
                           level = 1\nentries = 4\nways = 4\nreplacement = \"opt\"\n\
                           index = { 4k = \"none\" }\n\n[walk-cycles]\n4k = 30\n";

    #[test]
    fn a_rule_that_knows_the_future_is_refused_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("opt.toml");
        std::fs::write(&file, MACHINE).expect("written");
        let names = ["skylake".to_owned(), file.display().to_string()];
        let policies = |names: &[&str]| -> Vec<Box<dyn Policy>> {
            let parse = |name: &&str| broadleaf_policy::parse(name).expect("a policy");
            names.iter().map(parse).collect()
        };
        assert!(refuse_future(&names, &policies(&["4k", "greedy"])).is_ok());
        assert!(refuse_future(&names[..1], &policies(&["approx-online"])).is_ok());
        for policy in ["approx-online", "offline"] {
            let refused = refuse_future(&names, &policies(&["4k", policy]));
            let Err(Failure::Wrong(text)) = refused else {
                panic!("{policy} is not refused");
            };
            let place = format!("{}: line 9, replacement: opt knows", names[1]);
            assert!(text.starts_with(&place), "{text}");
            assert!(text.contains(&format!("policy {policy} decides")), "{text}");
        }
    }
}
