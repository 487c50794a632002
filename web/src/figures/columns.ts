// The columns of the matrix: counts of a result, and its run time.

import { percent, short, size, words } from "../format";
import { addedBytes, saved } from "../gain";
import type { Cell, Metric, Range, RunTime } from "../records";

export type Value = number | string | null;

/** A column: a value of a result, and its text. */
export interface Column {
  name: string;
  title: string;
  help: string;
  /** A field of the record, or a difference of two. */
  value: (cell: Cell, baseline: Cell | undefined) => Value;
  text: (value: number, cell: Cell) => string;
  /** Values are better if they are small (-1) or large (1); 0 if no value is marked. */
  better: -1 | 0 | 1;
  /** The ends of a value that is a range. */
  range?: (cell: Cell) => Range | undefined;
  /** The place of a value that is a word. */
  rank?: (value: string) => number;
  /** True for values whose bars would compare nothing. */
  plain?: boolean;
}

/** Columns of the first table, in its order. */
export const FIRST = [
  "walk_cycles",
  "saved",
  "run_time_class",
  "run_time_ratio",
  "run_time_user_seconds",
  "run_time_system_seconds",
  "l2_misses",
  "page_faults",
  "peak",
  "added",
  "promotions",
  "demotions",
];

/** The classes of gains in run time, from the smallest. */
const CLASSES = ["none", "some", "large"];

/** True if memory was used up before the end of the trace: counts are of a part of it alone. */
export function hasEnded(cell: Cell): boolean {
  return cell.out_of_memory_after !== undefined;
}

/** Two ends of a range as text, or one if both have the same text. */
function ends({ low, high }: Range, decimals: number): string {
  const [from, to] = [low, high].map((end) => end.toFixed(decimals));
  return from === to ? `${from}` : `${from} to ${to}`;
}

/** The digits of seconds: those of short runs are thousandths. */
function decimals({ high }: Range): number {
  return high < 1 ? 3 : 2;
}

/** A column of a range. Ranges that meet have no best, so none is marked. */
function ranged(
  name: string,
  title: string,
  help: string,
  range: (runTime: RunTime) => Range | undefined,
  text: (range: Range) => string,
): Column {
  const of = ({ run_time }: Cell): Range | undefined => (run_time ? range(run_time) : undefined);
  return {
    name,
    title,
    help,
    value: (cell) => of(cell)?.middle ?? null,
    text: (value, cell) => text(of(cell) ?? { low: value, middle: value, high: value }),
    better: 0,
    range: of,
    plain: true,
  };
}

/** A column of `fault_seconds`, by the name that `compare --format csv` gives it. */
function ofFaults(name: string, help: string, part: "saved" | "paid"): Column {
  return {
    name,
    title: words(name),
    help,
    value: ({ run_time }) => run_time?.fault_seconds?.[part] ?? null,
    text: (value) => `${value.toFixed(3)} s`,
    better: 0,
  };
}

const seconds = (range: Range): string => `${ends(range, decimals(range))} s`;

/** The columns of `run_time`. Each is shown if a result has it. */
const RUN_TIME: Column[] = [
  {
    name: "run_time_class",
    title: "run time",
    help: "The gain in user time: none (under 3 percent), some, or large (15 percent or more).",
    value: ({ run_time }) => run_time?.class ?? null,
    text: String,
    better: 0,
    rank: (value) => CLASSES.indexOf(value),
  },
  ranged(
    "run_time_ratio",
    "times as fast",
    "The user time with 4k over that under the policy, as a range. Sorted by the middle.",
    ({ ratio_low: low, ratio: middle, ratio_high: high }) => ({ low, middle, high }),
    (range) => ends(range, 2),
  ),
  ranged(
    "run_time_user_seconds",
    "user time",
    "The user time under the policy, as a range. Only a measured recording has it.",
    ({ user_seconds }) => user_seconds,
    seconds,
  ),
  ranged(
    "run_time_system_seconds",
    "system time",
    "The system time under the policy, as a range. Only a measured recording has it.",
    ({ system_seconds }) => system_seconds,
    seconds,
  ),
  {
    name: "run_time_basis",
    title: "run time from",
    help: "The origin of the ratios: a table, or a measurement of the program.",
    value: ({ run_time }) => run_time?.basis ?? null,
    text: String,
    better: 0,
    rank: (value) => Number(value === "measured"),
  },
  ofFaults(
    "fault_seconds_saved",
    "The system time of the page faults that the policy saves. The cost of a fault was " +
      "measured with the program. In JSON, the time is saved of fault_seconds.",
    "saved",
  ),
  ofFaults(
    "zeroing_seconds_paid",
    "The system time of making huge pages, zeroing included, by the cost that was measured with " +
      "the program: paid of fault_seconds in JSON.",
    "paid",
  ),
];

const DERIVED: Column[] = [
  {
    name: "saved",
    title: "saved",
    help: "The share of the cycles of 4k that the policy saves.",
    value: (cell, baseline) => (baseline && !hasEnded(cell) ? saved(cell, baseline) : null),
    text: percent,
    better: 1,
  },
  {
    name: "peak",
    title: "peak memory",
    help: "The peak of resident memory.",
    value: (cell) => cell.peak_resident_pages * (cell.base_page_bytes ?? 4096),
    text: size,
    better: -1,
  },
  {
    name: "added",
    title: "added memory",
    help: "The peak of resident memory less that of 4k.",
    value: (cell, baseline) => (baseline ? addedBytes(cell, baseline) : null),
    text: size,
    better: -1,
  },
];

/** Every column that these results have: those of the first table, then all other counts. */
export function columnsOf(cells: Cell[], metrics: Map<string, Metric>): Column[] {
  const fields = new Set<string>();
  for (const cell of cells) {
    for (const [name, value] of Object.entries(cell)) {
      if (typeof value === "number" && name !== "accesses" && name !== "base_page_bytes")
        fields.add(name);
    }
  }
  const counted = [...fields].map((name): Column => {
    const metric = metrics.get(name);
    const unit = metric?.unit ?? "";
    const whole = cells.every((cell) => Number.isInteger(cell[name] ?? 0));
    const text = unit === "bytes" ? size : whole ? short : (value: number) => value.toPrecision(3);
    return {
      name,
      title: words(name),
      help: metric?.sentence ?? "",
      value: (cell) => (typeof cell[name] === "number" ? (cell[name] as number) : null),
      text,
      better: metric?.less_is_better === true ? -1 : metric?.less_is_better === false ? 1 : 0,
    };
  });
  const timed = RUN_TIME.filter((column) =>
    cells.some((cell) => column.value(cell, undefined) !== null),
  );
  const all = [...DERIVED, ...timed, ...counted];
  const first = FIRST.flatMap((name) => all.find((column) => column.name === name) ?? []);
  return [
    ...first,
    ...all.filter((column) => !first.includes(column) && column.name !== "peak_resident_pages"),
  ];
}

/** The values of a column in a file: a range has three. */
export function fileColumns(column: Column): { name: string; value: Column["value"] }[] {
  const { name, value, range } = column;
  if (!range) return [{ name, value }];
  return [
    { name: `${name}_low`, value: (cell) => range(cell)?.low ?? null },
    { name, value },
    { name: `${name}_high`, value: (cell) => range(cell)?.high ?? null },
  ];
}

/** A value by which rows are sorted. Rows without one are last. */
export function sortKey(column: Column, value: Value): number {
  if (value === null) return Infinity;
  return typeof value === "number" ? value : (column.rank?.(value) ?? 0);
}
