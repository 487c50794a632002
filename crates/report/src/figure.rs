//! Columns of figures with one row for each result. The best and the worst figures are marked, and
//! columns that do not fit are left out.

use broadleaf_metrics::CellResult;

use crate::grid::{Align, Cell, Grid};
use crate::number::{grouped, short};
use crate::{Style, View};

/// The rank of a result in a column: less is better. A result without a rank is neither the best
/// nor the worst.
pub(crate) type Rank<'a> = Box<dyn Fn(&CellResult) -> Option<i64> + 'a>;
/// The text of a result in a column. `true` asks for all digits.
pub(crate) type FigureText<'a> = Box<dyn Fn(&CellResult, bool) -> String + 'a>;

/// A column of the table.
pub(crate) struct Figure<'a> {
    pub(crate) heading: &'static str,
    /// The order in which columns are left out: the largest first, and 0 never.
    pub(crate) leave_out_first: u8,
    /// The rank of each result. `None` for a column without ranks.
    pub(crate) rank: Option<Rank<'a>>,
    pub(crate) text: FigureText<'a>,
}

fn grid(
    results: &[&CellResult],
    figures: &[Figure<'_>],
    chosen: Option<&str>,
    exact: bool,
) -> Grid {
    let mut grid = Grid::new().column("  policy", Align::Left);
    for figure in figures {
        // A ranked column is one character wider, for its marks.
        let mark = if figure.rank.is_some() { " " } else { "" };
        grid = grid.column(&format!("{}{mark}", figure.heading), Align::Right);
    }
    let extremes: Vec<(Option<i64>, Option<i64>)> = figures
        .iter()
        .map(|figure| extremes(figure, results))
        .collect();
    for result in results {
        let is_chosen = chosen == Some(result.policy.as_str());
        let mut row = vec![Cell {
            text: format!("{} {}", if is_chosen { ">" } else { " " }, result.policy),
            style: if is_chosen {
                Style::Strong
            } else {
                Style::Plain
            },
        }];
        for (figure, extremes) in figures.iter().zip(&extremes) {
            let rank = figure.rank.as_ref().map(|rank| rank(result));
            let (best, worst) = *extremes;
            let (mark, style) = match rank {
                None => ("", Style::Plain),
                Some(None) => (" ", Style::Plain),
                Some(rank) if rank == best => ("*", Style::Best),
                Some(rank) if rank == worst => ("!", Style::Worst),
                Some(_) => (" ", Style::Plain),
            };
            row.push(Cell {
                text: format!("{}{mark}", (figure.text)(result, exact)),
                style,
            });
        }
        grid.row(row);
    }
    grid
}

/// Returns the best and the worst rank in a column. A rank that many results share is not marked.
fn extremes(figure: &Figure<'_>, results: &[&CellResult]) -> (Option<i64>, Option<i64>) {
    let Some(rank) = figure.rank.as_ref() else {
        return (None, None);
    };
    let ranks: Vec<i64> = results.iter().filter_map(|result| rank(result)).collect();
    let (best, worst) = (ranks.iter().min().copied(), ranks.iter().max().copied());
    if best == worst {
        return (None, None);
    }
    let few = (results.len() / 4).max(2);
    let is_rare = |extreme: &i64| ranks.iter().filter(|rank| *rank == extreme).count() <= few;
    (best.filter(is_rare), worst.filter(is_rare))
}

/// Returns a column of counts.
pub(crate) fn count<'a>(
    heading: &'static str,
    leave_out_first: u8,
    of: fn(&CellResult) -> u64,
) -> Figure<'a> {
    Figure {
        heading,
        leave_out_first,
        rank: Some(Box::new(move |result| Some(of(result).cast_signed()))),
        text: Box::new(move |result, exact| {
            if exact {
                grouped(of(result))
            } else {
                short(of(result))
            }
        }),
    }
}

/// Returns the table of these figures, and the headings of the figures without room.
pub(crate) fn fitted(
    results: &[&CellResult],
    mut figures: Vec<Figure<'_>>,
    chosen: Option<&str>,
    view: View,
) -> (String, Vec<&'static str>) {
    // First the digits are shortened, then the least important figures are left out.
    let mut exact = true;
    let mut left_out = Vec::new();
    let grid = loop {
        let grid = grid(results, &figures, chosen, exact);
        if view.width.is_none_or(|width| grid.width() <= width) {
            break grid;
        }
        if exact {
            exact = false;
        } else if let Some(least) = (0..figures.len()).max_by_key(|&at| figures[at].leave_out_first)
        {
            if figures[least].leave_out_first == 0 {
                break grid;
            }
            left_out.push(figures.remove(least).heading);
        } else {
            break grid;
        }
    };
    let text = grid.render(View {
        width: None,
        ..view
    });
    (text, left_out)
}
