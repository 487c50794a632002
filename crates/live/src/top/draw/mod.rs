//! The screen.

#[cfg(test)]
mod tests;

use broadleaf_metrics::ProcessReport;
use broadleaf_report::number::{grouped, percent, size};
use broadleaf_report::{PageMap, Paint, Shades, printable};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::heat::{ScreenHeat, UsedMemory};
use super::screen::{ListOrder, ListedProcess, Screen, ScreenPage, forecast_of};

/// Colours and characters of the screen.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScreenStyle {
    /// The use of colours.
    pub paint: Paint,
    /// The characters of pictures.
    pub shades: Shades,
}

impl ScreenStyle {
    fn coloured(self, style: Style, colour: Color) -> Style {
        match self.paint {
            Paint::Colour => style.fg(colour),
            Paint::Plain => style,
        }
    }

    fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

const HELP: &str = "\
What a policy would do to processes now. Nothing is changed.

  RESIDENT        memory that the process holds
  SUPERPAGES      share of it that lies in superpages (THP) already
  CANDIDATES      blocks of 2 MiB that the policy would promote
  REACH           resident memory that would lie in superpages then
  ADDED           memory that the process would hold more

The last row adds up the processes shown. Memory that several share counts in each.
An arrow beside a heading shows the order: v for the largest first, ^ for the smallest.

  up, down, page up, page down, home, end    select a process
  enter           a picture of its memory; u turns to the used blocks and back
  s, left, right  another column decides the order
  p r n m         order by number, user, command, memory
  u c g a         order by superpages, candidates, reach, added
  o               reverse the order
  /               show only processes with a text in command, user or number; esc shows all
  space           stop and go on
  q               back, and quit";

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen, style: ScreenStyle) {
    let area = frame.area();
    let order = ListOrder::ALL
        .iter()
        .find(|(order, ..)| *order == screen.order);
    let title = format!(
        "broadleaf top: {}, by {}{}{}",
        screen.policy,
        order.map_or("", |(.., name)| name).to_lowercase(),
        if screen.reversed { ", reversed" } else { "" },
        if screen.paused { ", stopped" } else { "" }
    );
    let head_lines = lines(&title, area.width);
    let foot_lines = lines(&keys(screen), area.width);
    // A long message takes several lines, as long as a few lines are left for the processes.
    let room = area.height.saturating_sub(4).max(2) / 2;
    let height = |lines: &[Line<'_>]| Constraint::Length((lines.len() as u16).clamp(1, room));
    let [head, body, foot] =
        Layout::vertical([height(&head_lines), Constraint::Min(1), height(&foot_lines)])
            .areas(area);
    frame.render_widget(Paragraph::new(head_lines).style(style.bold()), head);
    frame.render_widget(Paragraph::new(foot_lines).style(dim()), foot);
    match &screen.page {
        ScreenPage::Processes => processes(frame, screen, style, body),
        ScreenPage::Process(id, map) => {
            let heat = screen.heat.as_ref().filter(|(process, _)| process == id);
            let heat = heat.map(|(_, heat)| heat);
            let lines = one(screen.process(*id), map.as_ref(), heat, style, body);
            frame.render_widget(Paragraph::new(lines), body);
        }
        ScreenPage::Help => {
            let help = Paragraph::new(HELP).wrap(Wrap { trim: false });
            frame.render_widget(help, body);
        }
    }
}

/// Wraps a text into lines that fit.
fn lines(text: &str, width: u16) -> Vec<Line<'static>> {
    let wrapped = broadleaf_report::wrap(text, usize::from(width));
    wrapped.into_iter().map(Line::from).collect()
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// The text of the last line.
fn keys(screen: &Screen) -> String {
    if screen.is_typing {
        return format!("show only: {}_  (enter: done, esc: all)", screen.filter);
    }
    match screen.page {
        ScreenPage::Processes => {
            let (refused, later) = screen.unseen;
            let mut text = "q quit  h help  enter picture  s order  / find".to_owned();
            if !screen.filter.is_empty() {
                text += &format!("  [{}]", screen.filter);
            }
            if refused > 0 {
                text += &format!("  {refused} may not be looked at");
            }
            if later > 0 {
                text += &format!("  {later} still to be looked at");
            }
            text
        }
        ScreenPage::Process(process, _) => {
            let is_known = (screen.heat.as_ref()).is_some_and(|(known, _)| *known == process);
            match screen.watched() {
                Some(watched) => format!("q back  process {watched} is being watched"),
                None if is_known => "q back  u its memory".to_owned(),
                None => "q back  u which blocks are used".to_owned(),
            }
        }
        ScreenPage::Help => "q back".to_owned(),
    }
}

fn processes(frame: &mut Frame<'_>, screen: &Screen, style: ScreenStyle, area: Rect) {
    let columns = ScreenColumns::within(area.width);
    let shown = screen.shown();
    if shown.is_empty() && !screen.filter.is_empty() {
        let text = format!(
            "No process that was looked at has \"{}\" in its command, user or number. Esc shows \
            all again.",
            screen.filter
        );
        let mut text = lines(&text, area.width);
        text.insert(0, Line::default());
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let heading = |at: usize| {
        let (order, _, name) = ListOrder::ALL[at];
        let (style, name) = if order == screen.order {
            let arrow = if order.is_ascending() == screen.reversed {
                'v'
            } else {
                '^'
            };
            let style = style.bold().add_modifier(Modifier::UNDERLINED);
            (style, format!("{name} {arrow}"))
        } else {
            (style.bold(), name.to_owned())
        };
        cell(at, Line::styled(name, style))
    };
    let rows = shown.iter().map(|process| row(process, &columns));
    let headings = columns.shown.iter().map(|at| heading(*at));
    let table = Table::new(rows, columns.widths())
        .header(Row::new(headings))
        .footer(totals(&shown, &columns).style(style.bold()))
        .column_spacing(1)
        .row_highlight_style(
            style.coloured(Style::new().add_modifier(Modifier::REVERSED), Color::Cyan),
        );
    let mut selection = TableState::new().with_selected(Some(screen.place()));
    frame.render_stateful_widget(table, area, &mut selection);
}

/// The columns that fit, as indices of [`ListOrder::ALL`]. A column that does not fit is left out,
/// since a number that is cut reads as another number.
struct ScreenColumns {
    shown: Vec<usize>,
    /// True if REACH and ADDED show shares as well.
    shares: bool,
}

impl ScreenColumns {
    /// The minimum widths of the columns. The command's column gets the remaining width.
    const WIDTHS: [u16; 8] = [8, 9, 10, 12, 12, 10, 10, 12];
    /// The width of a share beside its figure.
    const SHARE: u16 = 8;
    /// The order in which columns are left out. The number and the command stay.
    const LEFT_OUT: [usize; 6] = [1, 6, 5, 4, 3, 2];
    const USER: usize = 1;
    const COMMAND: usize = 7;

    fn within(width: u16) -> Self {
        let needed = |shown: &[usize]| {
            let widths = shown.iter().map(|at| Self::WIDTHS[*at]);
            widths.sum::<u16>() + shown.len() as u16 - 1
        };
        let mut shown: Vec<usize> = (0..Self::WIDTHS.len()).collect();
        for left_out in Self::LEFT_OUT {
            if needed(&shown) <= width {
                break;
            }
            shown.retain(|at| *at != left_out);
        }
        // A command line matters more than a share, so it gets room first.
        let all = needed(&shown) + 2 * Self::SHARE + 2 * Self::WIDTHS[Self::COMMAND];
        Self {
            shares: shown.len() == Self::WIDTHS.len() && all <= width,
            shown,
        }
    }

    fn widths(&self) -> Vec<Constraint> {
        let width = |at: &usize| match *at {
            Self::COMMAND => Constraint::Min(Self::WIDTHS[*at]),
            5 | 6 if self.shares => Constraint::Length(Self::WIDTHS[*at] + Self::SHARE),
            _ => Constraint::Length(Self::WIDTHS[*at]),
        };
        self.shown.iter().map(width).collect()
    }
}

/// A cell of a column. Words are aligned left, figures right.
fn cell(column: usize, line: Line<'static>) -> Cell<'static> {
    Cell::from(match column {
        ScreenColumns::USER | ScreenColumns::COMMAND => line,
        _ => line.right_aligned(),
    })
}

/// The figures of a process, or the sums of several.
#[derive(Default)]
struct RowFigures {
    rss: u64,
    huge: u64,
    promoted: u64,
    covered: u64,
    added: u64,
}

impl RowFigures {
    fn add(mut self, process: &ListedProcess) -> Self {
        let report = &process.report;
        self.rss += report.rss_bytes;
        self.huge += report.huge_bytes;
        if let Some(forecast_of) = forecast_of(report) {
            self.promoted += forecast_of.would_promote;
            self.covered += forecast_of.covered_bytes;
            self.added += forecast_of.added_bytes;
        }
        self
    }

    fn row(
        self,
        pid: String,
        user: String,
        command: String,
        columns: &ScreenColumns,
    ) -> Row<'static> {
        let share = |part: u64| percent(part as f64 / self.rss as f64);
        let with_share = |bytes: u64| {
            if columns.shares {
                format!("{} {:>6}", size(bytes), share(bytes))
            } else {
                size(bytes)
            }
        };
        let texts = [
            pid,
            user,
            size(self.rss),
            share(self.huge),
            grouped(self.promoted),
            with_share(self.covered),
            with_share(self.added),
            command,
        ];
        let shown = texts.into_iter().enumerate();
        let shown = shown.filter(|(at, _)| columns.shown.contains(at));
        Row::new(shown.map(|(at, text)| cell(at, Line::from(text))))
    }
}

fn row(process: &ListedProcess, columns: &ScreenColumns) -> Row<'static> {
    RowFigures::default().add(process).row(
        process.id.pid.to_string(),
        printable(&process.user),
        printable(&process.line),
        columns,
    )
}

/// The row that adds up the processes that are shown.
fn totals(shown: &[&ListedProcess], columns: &ScreenColumns) -> Row<'static> {
    let all = shown
        .iter()
        .fold(RowFigures::default(), |all, process| all.add(process));
    let count = match shown.len() {
        1 => "1 process".to_owned(),
        count => format!("{} processes", grouped(count as u64)),
    };
    all.row("total".to_owned(), String::new(), count, columns)
}

/// The page of one process, with a picture of its memory.
fn one(
    process: Option<&ProcessReport>,
    map: Option<&PageMap>,
    heat: Option<&ScreenHeat>,
    style: ScreenStyle,
    area: Rect,
) -> Vec<Line<'static>> {
    let (Some(process), Some(map)) = (process, map) else {
        return lines(
            "The process has ended, or cannot be looked at any more.",
            area.width,
        );
    };
    let title = format!(
        "{} ({}): {} resident, {} of it in superpages",
        printable(&process.command),
        process.pid,
        size(process.rss_bytes),
        size(process.huge_bytes)
    );
    let title = self::lines(&title, area.width);
    let mut lines: Vec<_> = title
        .into_iter()
        .map(|line| line.style(style.bold()))
        .collect();
    if let Some(forecast_of) = forecast_of(process) {
        let foretold = format!(
            "{} would promote {} blocks, add {}, and have {} of what is resident in superpages",
            forecast_of.policy,
            grouped(forecast_of.would_promote),
            size(forecast_of.added_bytes),
            size(forecast_of.covered_bytes)
        );
        lines.extend(self::lines(&foretold, area.width));
    }
    let used = heat.map(ScreenHeat::text).unwrap_or_default();
    lines.extend(used.iter().flat_map(|text| self::lines(text, area.width)));
    let map = match heat {
        Some(ScreenHeat::Known(UsedMemory { map: Some(map), .. })) => map,
        _ => map,
    };
    lines.push(Line::default());
    // On a narrow screen the legend takes two lines.
    let room = usize::from(area.height).saturating_sub(lines.len() + 2);
    let picture = map.lines(usize::from(area.width), room, style.shades);
    let Some((legend, picture)) = picture.split_last() else {
        lines.push(Line::from("Nothing lies in whole blocks of 2 MiB."));
        return lines;
    };
    lines.extend(picture.iter().map(|line| painted(line, style)));
    let legend = broadleaf_report::wrap(legend, usize::from(area.width));
    lines.extend(legend.into_iter().map(|line| Line::styled(line, dim())));
    lines
}

/// A line of a picture, with superpages in colour.
fn painted(line: &str, style: ScreenStyle) -> Line<'static> {
    let (label, cells) = line.split_at(line.find('|').unwrap_or(0));
    let mut spans = vec![Span::styled(label.to_owned(), dim())];
    let cells: Vec<char> = cells.chars().collect();
    let is_huge = |cell: &char| *cell == PageMap::SUPERPAGE;
    for alike in cells.chunk_by(|one, other| is_huge(one) == is_huge(other)) {
        let style = if is_huge(&alike[0]) {
            style.coloured(Style::new(), Color::Green)
        } else {
            Style::new()
        };
        spans.push(Span::styled(alike.iter().collect::<String>(), style));
    }
    Line::from(spans)
}
