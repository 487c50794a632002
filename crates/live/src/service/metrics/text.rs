//! The text format of Prometheus, version 0.0.4 (its documentation's page "Exposition formats").

use std::fmt::Write;

/// The type of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum FamilyKind {
    /// A figure that only grows.
    Counter,
    /// A figure that grows and shrinks.
    Gauge,
}

/// A text of families of figures.
#[derive(Debug, Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Begins a family. Its samples follow.
    pub(super) fn family(&mut self, name: &str, kind: FamilyKind, help: &str) {
        let kind = match kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.0,
            "# HELP broadleaf_{name} {help}\n# TYPE broadleaf_{name} {kind}"
        );
    }

    pub(super) fn sample<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: f64,
    ) {
        let labels = labels.into_iter();
        let labels: Vec<String> = labels
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _ = writeln!(self.0, "broadleaf_{name}{labels} {value}");
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
