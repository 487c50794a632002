//! Tables and pictures of result records of any origin.
//!
//! Everything here is a function of its arguments: the caller passes the width and the colours of
//! the terminal.
#![forbid(unsafe_code)]

mod advice;
mod baseline;
mod cache_figures;
mod columns;
mod csv;
mod curve;
mod data_set;
mod design_space;
mod disk;
mod estimates;
mod figure;
mod governed;
mod grid;
mod headings;
mod judging;
mod live;
mod live_tables;
mod log_line;
mod matrix;
mod matrix_svg;
mod means;
mod means_svg;
mod memory_figures;
mod message;
mod mix;
mod next;
pub mod number;
mod over_time;
mod page;
mod paint;
mod parquet;
mod printable;
mod probed;
mod processor_time;
mod ranges;
mod recommendation;
mod replayed;
mod rule;
mod run_time;
mod signal;
mod stay;
mod table;
mod task_lines;
mod trapped;
mod validation;

pub use advice::{Advice, BASELINE, REFERENCE, added_bytes, advise};
pub use baseline::{BaselineChange, baseline_changes, baseline_table, change_sentence};
pub use columns::{Column, Values, columns};
pub use csv::write_csv;
pub use curve::{DrawError, Glyphs, curves, curves_svg, write_curves_csv, write_curves_parquet};
pub use data_set::{ReadParquetError, read_column_file, text_of_column_file, write_column_file};
pub use design_space::design_space;
pub use disk::is_mostly_disk;
pub use governed::governed_summary;
pub use grid::{Align, Cell, Grid, paragraph, wrap};
pub use headings::{
    HEADINGS, Heading, LIVE_HEADINGS, Meaning, RANGE_HEADINGS, heading_named, live_heading_named,
    range_heading_named,
};
pub use judging::Judging;
pub use live::{
    IN_ORDER_BY, MappedBlocks, PageMap, Shades, all_processes, heat_map, order_of, process_table,
    put_in_order,
};
pub use live_tables::live_tables;
pub use log_line::log_line;
pub use matrix_svg::matrix_svg;
pub use means::{WithReferences, comparisons, means_table};
pub use means_svg::{MeansPanel, means_svg};
pub use message::{MESSAGE_START, beside_name, fold_message};
pub use mix::{mix_columns, mix_table, write_mix_csv, write_mix_parquet};
pub use next::{baseline_command, command_line, next};
pub use over_time::over_time;
pub use page::{
    Answered, Page, advice_answer, baseline_answer, live_answer, paper_answer, replay_answer,
};
pub use paint::{Paint, Style, View};
pub use parquet::{WriteParquetError, write_parquet};
pub use printable::printable;
pub use probed::probe_table;
pub use ranges::{
    NO_SITES, NOTHING_PAYS, cbmm, flame_graph, folded, madvise, of_one_process, perf_script,
    process_of, range_table, verdict,
};
pub use recommendation::{Context, recommendations};
pub use replayed::{replay_table, replay_verdict};
pub use rule::RULE_IN_FULL;
pub use run_time::run_time_sentence;
pub use signal::signal;
pub use table::comparison_table;
pub use task_lines::TaskLines;
pub use trapped::trap_table;
pub use validation::validation_table;
