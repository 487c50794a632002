// Results that can be compared with others of their kind: named rows of figures.

import { kind, type AnyRecord, type Cell, type Comparison, type RunTime } from "./records";

/** Figures by their names. A verdict on a claim is a word. */
export type Figures = Record<string, number | string>;

/** A result: its rows by name. */
export interface Result {
  name: string;
  rows: Map<string, Figures>;
  /** Fields that are shown first, or all if there is none. */
  first: string[];
}

/** The numbers of an object. */
function numbers(value: object): Figures {
  const fields = Object.entries(value).filter(([, field]) => typeof field === "number");
  return Object.fromEntries(fields) as Figures;
}

/** The figures of a policy on a machine, with the middles of its run time. */
function cellFigures(cell: Cell): Figures {
  const figures = numbers(cell);
  const { ratio, user_seconds, system_seconds } = cell.run_time ?? ({} as Partial<RunTime>);
  if (ratio !== undefined) figures["run_time_ratio"] = ratio;
  if (user_seconds) figures["run_time_user_seconds"] = user_seconds.middle;
  if (system_seconds) figures["run_time_system_seconds"] = system_seconds.middle;
  return figures;
}

/** The median of some values; `undefined` if there is none. */
export function median(values: number[]): number | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[half - 1], sorted[half]];
  return sorted.length % 2 === 0 && low !== undefined && high !== undefined
    ? (low + high) / 2
    : high;
}

/** The median of each figure that all runs have. */
function medians(runs: object[]): Figures {
  const all = runs.map(numbers);
  const names = Object.keys(all[0] ?? {}).filter((name) => all.every((run) => name in run));
  return Object.fromEntries(
    names.map((name) => [name, median(all.map((run) => Number(run[name]))) ?? 0]),
  );
}

/** Fields of `compare` that are shown first. */
const COUNTS = [
  "walk_cycles",
  "run_time_ratio",
  "run_time_user_seconds",
  "l2_misses",
  "page_faults",
  "promotions",
  "demotions",
  "peak_resident_pages",
];

const LIVE = [
  "promotions",
  "demotions",
  "huge_bytes_peak",
  "added_bytes_peak",
  "rss_bytes",
  "huge_bytes",
];

const RUNS = [
  "user_seconds",
  "system_seconds",
  "elapsed_seconds",
  "page_faults",
  "rss_bytes_peak",
  "huge_bytes_peak",
];

type Rows = [string, Figures][];

function cellRows(record: AnyRecord, before = ""): Rows {
  const cells = (record["results"] ?? []) as Cell[];
  return cells.map((cell) => [`${before}${cell.policy} on ${cell.machine}`, cellFigures(cell)]);
}

function liveRows(record: AnyRecord): Rows {
  const processes = (record["processes"] ?? []) as { command: string }[];
  const rows: Rows = processes.map((process) => [process.command, numbers(process)]);
  if (record["policy"] !== undefined) rows.push([String(record["policy"]), numbers(record)]);
  return rows;
}

function replayRows(record: AnyRecord): Rows {
  const policies = (record["policies"] ?? []) as { policy: string; max_added: string }[];
  return policies.map((row) => [`${row.policy} within ${row.max_added}`, numbers(row)]);
}

/** The ways in which a program ran in turns: the median of its runs. */
function baselineRows(record: AnyRecord): Rows {
  const ways = [
    ["4 KiB pages", "base_pages"],
    ["as the system is set", "without"],
    [String(record["policy"]), "with"],
    ["all huge pages", "huge_pages"],
  ] as const;
  return ways.map(([way, field]) => [
    `${way}, median`,
    medians((record[field] ?? []) as object[]),
  ]);
}

interface PaperTable {
  title: string;
  columns: string[];
  rows: string[][];
  claims: { claim: string; agrees: string }[];
}

/** The number of a cell such as `1,234`, `12.3%`, `1.5x` or `+-0.31`; `null` if it is none. */
function numberOf(cell: string): number | null {
  const plain = cell.replace(/,/g, "").replace(/[%x]$/, "").replace(/^\+-/, "");
  return plain.trim() !== "" && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

/**
 * A row for each verdict and each figure of a paper's tables. The first cell names a row, with the
 * words of columns that hold no digit. All other columns are figures: numbers, or texts such as
 * `none` and `about 1.3x`. A name never holds a figure, since figures differ between two results.
 */
function paperRows(record: AnyRecord): Rows {
  const tables = (record["tables"] ?? []) as PaperTable[];
  const claims = tables.flatMap((table) =>
    table.claims.map(({ claim, agrees }): Rows[number] => [
      `Claim: ${claim}`,
      { value: { yes: "agrees", no: "does not agree" }[agrees] ?? agrees },
    ]),
  );
  const figures = tables.flatMap(({ title, columns, rows }) => {
    const isFigure = columns.map(
      (_, column) => column > 0 && rows.some((row) => /\d/.test(row[column] ?? "")),
    );
    return rows.flatMap((row) => {
      // A cell without letters has no value, and may have one in the other result.
      const isWord = (cell: string, column: number): boolean =>
        column === 0 || (!isFigure[column] && /\p{L}/u.test(cell));
      const words = row.filter(isWord).join(", ");
      return row.flatMap((cell, column): Rows =>
        isFigure[column]
          ? [[`${title}: ${words}, ${columns[column]}`, { value: numberOf(cell) ?? cell }]]
          : [],
      );
    });
  });
  return [...claims, ...figures];
}

const KINDS: Record<string, { rows: (record: AnyRecord) => Rows; first: string[] }> = {
  compare: { rows: cellRows, first: COUNTS },
  advice: { rows: cellRows, first: COUNTS },
  comparisons: {
    rows: (record) =>
      (record["comparisons"] as Comparison[]).flatMap((comparison) =>
        cellRows(comparison as unknown as AnyRecord, `${comparison.trace.path}: `),
      ),
    first: COUNTS,
  },
  report: { rows: liveRows, first: LIVE },
  replay: { rows: replayRows, first: LIVE },
  baseline: { rows: baselineRows, first: RUNS },
  paper: { rows: paperRows, first: [] },
};

/** The rows of a record that can be compared; `null` if there are none. */
export function resultOf(record: AnyRecord, name: string): Result | null {
  const found = KINDS[kind(record)];
  if (!found) return null;
  const rows = new Map<string, Figures>();
  for (const [row, figures] of found.rows(record)) {
    // Rows of equal names are told apart by their order.
    let own = row;
    for (let count = 2; rows.has(own); count += 1) own = `${row} (${count})`;
    rows.set(own, figures);
  }
  const trace = record["trace"] as { path?: string } | undefined;
  return { name: trace?.path ? `${name} (${trace.path})` : name, rows, first: found.first };
}
