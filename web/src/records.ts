// The records that the page shows: the objects that `--format json` prints, in the same words.

/** One result of `compare`: a policy on a machine. Every count is a field. */
export interface Cell {
  policy: string;
  asked?: string;
  machine: string;
  accesses: number;
  l1_misses: number;
  l2_misses: number;
  walk_cycles: number;
  page_faults: number;
  faults_saved: number;
  promotions: number;
  demotions: number;
  peak_resident_pages: number;
  touched_pages: number;
  refusals: Record<string, number>;
  curve?: CurvePoint[];
  base_page_bytes?: number;
  fault_cycles?: number;
  bookkeeping_cycles?: number;
  out_of_memory_after?: number;
  over_time?: MemorySample[];
  run_time?: RunTime | null;
  [field: string]: unknown;
}

export interface CurvePoint {
  page_size: number;
  sets: number;
  ways: number;
  misses: number;
}

export interface MemorySample {
  time: number;
  resident_pages: number;
  bloat_pages: number;
  superpage_pages: number;
  [field: string]: unknown;
}

/** A figure that is known as a range. */
export interface Range {
  low: number;
  middle: number;
  high: number;
}

/** The run time without huge pages over the run time under a policy. */
export interface RunTime {
  class: "none" | "some" | "large";
  ratio_low: number;
  ratio: number;
  ratio_high: number;
  basis: "table" | "measured";
  /** Seconds are those of a measured recording. */
  user_seconds?: Range;
  system_seconds?: Range;
  fault_seconds?: { saved: number; paid: number };
}

/** A command to type. An empty command is a hint without one. */
export interface SuggestedCommand {
  purpose: string;
  command: string;
}

export interface Advice {
  machine: string;
  policy: string;
  sentence: string;
  /** Sentences on the run time. */
  run_time?: string | null;
  /** Sentences on the system time of page faults saved and huge pages made. */
  page_faults?: string | null;
  commands?: SuggestedCommand[];
  [field: string]: unknown;
}

export interface TraceSummary {
  path: string;
  hash: string;
  accesses: number;
  loads: number;
  stores: number;
  instructions: number;
  pages: number;
  events: boolean;
}

export interface Provenance {
  version: string;
  commit: string;
  config_hash: string;
  host: string;
}

/** A structure of a machine's TLB, for pages of the sizes that it holds. */
export interface Structure {
  level: number;
  name: string;
  sizes: number[];
  sets: number;
  ways: number;
}

/**
 * A state of a part of memory: the bin at whose end it began, then resident pages, those of them
 * in huge pages, and those that the program has not referenced.
 */
export type MapState = [bin: number, populated: number, promoted: number, wasted: number];

export interface MapRow {
  start: number;
  blocks: number;
  touched_pages: number;
  walk_cycles: number[];
  states: MapState[];
}

export interface MapMapping {
  space: number;
  program: string;
  backing: string | null;
  path?: string;
  start: number;
  end: number;
  mappings?: number;
  blocks: number;
  touched_pages: number;
  populated_pages: number;
  promoted_pages: number;
  wasted_pages: number;
  walks: number;
  walk_cycles: number;
  rows: MapRow[];
}

export interface MapDecision {
  time: number;
  until: number;
  decision: string;
  piece_bytes: number;
  count: number;
  populated: [number, number];
}

export interface MapBlock {
  space: number;
  start: number;
  mapping: number;
  first_reference: number | null;
  touched_pages: number;
  walks: number;
  walk_cycles: number;
  walk_cycles_over_time: number[];
  states: MapState[];
  history: MapDecision[];
  history_left_out: number;
  decisions: Record<string, number>;
}

export interface WalkNode {
  name: string;
  kind: "program" | "mapping" | "range" | "site" | "rest";
  walk_cycles: number;
  parts?: WalkNode[];
}

/** The address-space map of a policy on a machine. Pages have 4 KiB. */
export interface AddressMap {
  policy: string;
  machine: string;
  accesses: number;
  bin_accesses: number;
  bins: number;
  block_bytes: number;
  mappings: MapMapping[];
  blocks: MapBlock[];
  walk_tree: WalkNode;
  folded: string[];
}

export interface Comparison {
  schema: string;
  trace: TraceSummary;
  memory?: Record<string, unknown>;
  machines?: { name: string; structures: Structure[] }[];
  results: Cell[];
  maps?: AddressMap[];
  advice: Advice[];
  damage: string | null;
  notes: string[];
  provenance: Provenance;
  [field: string]: unknown;
}

export interface Metric {
  name: string;
  unit: string;
  sentence: string;
  /** True if small values are better, false if large ones are, null if neither. */
  less_is_better: boolean | null;
}

export interface PolicyEntry {
  name: string;
  summary: string;
}

/** A record of any kind. */
export interface AnyRecord {
  schema: string;
  [field: string]: unknown;
}

/** The kind of a record: `compare` of `broadleaf.compare/1`. */
export function kind(record: AnyRecord): string {
  return /^broadleaf\.([a-z-]+)\/\d+$/.exec(record.schema)?.[1] ?? "";
}

/** Reads the records of a text: a page, or JSON as the command prints it. */
export function parse(text: string): AnyRecord[] {
  // The scripts of a page that is parsed here do not run.
  const isPage = /^\s*</.test(text);
  const page = isPage ? new DOMParser().parseFromString(text, "text/html") : undefined;
  const value: unknown = JSON.parse(page?.getElementById("broadleaf-records")?.textContent ?? text);
  const records = Array.isArray(value) ? value : [value];
  const known = (record: unknown): record is AnyRecord =>
    typeof record === "object" &&
    record !== null &&
    "schema" in record &&
    kind(record as AnyRecord) !== "";
  if (!records.every(known)) throw new Error("this is no result of Broadleaf");
  return records;
}
