//! The papers in words, for help texts.

use super::PAPERS;

/// The names of all papers, separated by commas.
pub fn list_of_names() -> String {
    let names: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
    names.join(", ")
}

/// The default cost of an access in the words of a help text: `1.5 for navarro2002, 3 for ...`.
pub fn default_cycles() -> String {
    let defaults = PAPERS.iter().filter_map(|paper| {
        let cycles = paper.cycles_per_access?;
        Some(format!("{cycles} for {}", paper.name))
    });
    let defaults: Vec<String> = defaults.collect();
    format!("{}; other papers need none", defaults.join(", "))
}

/// The long help: the experiments in general, and a paragraph for each paper.
pub fn long_help() -> String {
    let papers: String = (PAPERS.iter())
        .map(|paper| format!("\n\n{}: {}", paper.name, paper.help))
        .collect();
    format!(
        "Repeat a paper's experiments, and print its figures beside ours\n\nEach experiment prints a \
         table: the published figures, ours, and whether our figures agree with each claim of the \
         paper. The last line counts the claims that agree.\n\nCounts are exact, speedups are \
         estimates from them. Without --full, programs are reference streams modelled on the \
         kernels of the paper's programs, in less memory. This takes less than two minutes. With \
         --full, memory and programs have the paper's sizes, which takes much longer.{papers}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_has_a_paragraph_for_each_paper() {
        let help = long_help();
        for paper in PAPERS {
            let begins = format!("{}: ", paper.name);
            let paragraphs = help.split("\n\n").filter(|text| text.starts_with(&begins));
            assert_eq!(paragraphs.count(), 1, "{}", paper.name);
            assert!(list_of_names().contains(paper.name));
            let has_cycles = default_cycles().contains(paper.name);
            assert_eq!(has_cycles, paper.cycles_per_access.is_some());
        }
        assert!(default_cycles().starts_with("1.5 for navarro2002, 3 for romer1995"));
    }
}
