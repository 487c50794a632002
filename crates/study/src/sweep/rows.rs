//! The rows of a file of results: one for each cell, whose values depend on no other row.

use broadleaf_report::{Column, Values};

/// Joins the columns of single rows. A row that lacks a column has no value there.
pub(super) fn joined(rows: &[Vec<Column>]) -> Vec<Column> {
    // The row with the most columns gives the order.
    let widest = rows.iter().max_by_key(|row| row.len());
    let mut models: Vec<&Column> = Vec::new();
    for column in widest.into_iter().chain(rows).flatten() {
        if models.iter().all(|known| known.name != column.name) {
            models.push(column);
        }
    }
    let column = |model: &Column| {
        let of = |row: &Vec<Column>| {
            let column = row.iter().find(|column| column.name == model.name);
            column.map(|column| column.values.clone())
        };
        Column {
            name: model.name.clone(),
            values: values(&model.values, rows.iter().map(of).collect()),
        }
    };
    models.into_iter().map(column).collect()
}

/// The values of one column. All counts may be missing, so that files have one form.
fn values(model: &Values, rows: Vec<Option<Values>>) -> Values {
    let rows = rows.into_iter();
    match model {
        Values::Text(_) => Values::Text(
            rows.map(|row| row.map_or_else(String::new, |values| values.text(0)))
                .collect(),
        ),
        Values::Count(_) | Values::Optional(_) => Values::Optional(
            rows.map(|row| match row? {
                Values::Count(values) => values.first().copied(),
                Values::Optional(values) => values.first().copied().flatten(),
                _ => None,
            })
            .collect(),
        ),
        // Every row has each difference.
        Values::Difference(_) => Values::Difference(
            rows.map(|row| match row {
                Some(Values::Difference(values)) => values.first().copied().unwrap_or_default(),
                _ => 0,
            })
            .collect(),
        ),
        Values::Ratio(_) => Values::Ratio(
            rows.map(|row| match row? {
                Values::Ratio(values) => values.first().copied().flatten(),
                _ => None,
            })
            .collect(),
        ),
    }
}
