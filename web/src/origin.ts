// The origin of the figures that are being made: saved files name it.

import type { Provenance, TraceSummary } from "./records";

/** A result record, as far as it tells where its figures come from. */
export interface Origin {
  trace?: TraceSummary | undefined;
  provenance?: Provenance | undefined;
}

let now: Origin = {};

/** Names the record of the figures that are made from now on. */
export function from({ trace, provenance }: Origin): void {
  now = { trace, provenance };
}

/** The columns of the origin, with their values, as CSV of the command names them. */
export function origin(): [column: string, value: string][] {
  const { trace, provenance } = now;
  const columns: [string, string | undefined][] = [
    ["trace", trace?.path],
    ["trace_hash", trace?.hash],
    ["version", provenance?.version],
  ];
  return columns.filter((column): column is [string, string] => Boolean(column[1]));
}
