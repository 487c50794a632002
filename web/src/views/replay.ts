// The page of `replay`: what policies would have achieved on a recorded run.

import { tiles } from "../answer";
import { answered } from "../answered";
import { h } from "../dom";
import { barsFigure } from "../figures/bars";
import { refusalsFigure } from "../figures/refusals";
import { tableFigure } from "../figures/table";
import { grouped, size } from "../format";
import { provenanceSection } from "../provenance";
import type { AnyRecord, Provenance } from "../records";

interface Row {
  policy: string;
  max_added: string;
  estimated: boolean;
  promotions: number;
  demotions: number;
  broken_by_programs: number;
  given_back: number;
  refusals: Record<string, number>;
  added_bytes_peak: number;
  added_bytes: number;
  huge_bytes_peak: number;
  huge_bytes: number;
}

interface Replayed extends AnyRecord {
  journal: string;
  version: string;
  command: string[];
  started: number;
  dry_run: boolean;
  ticks: number;
  elapsed_seconds: number;
  torn_bytes: number;
  reproduced: boolean;
  difference: string | null;
  policies: Row[];
  provenance: Provenance;
}

function nameOf(row: Row, limits: boolean): string {
  const limit = limits ? ` within ${row.max_added}` : "";
  return `${row.policy}${limit}${row.estimated ? "" : " (recorded)"}`;
}

export function replayView(record: AnyRecord, _: unknown, records: AnyRecord[]): Node[] {
  const replayed = record as Replayed;
  const rows = replayed.policies;
  const limits = new Set(rows.map(({ max_added }) => max_added)).size > 1;
  const bars = barsFigure(
    {
      name: "memory",
      title: "Memory in huge pages, and memory that they added",
      lead: ["The most at any time. A policy that is not recorded is an estimate."],
      controls: [
        h(
          "ul",
          { class: "key" },
          [
            ["in huge pages, used before", "part-huge"],
            ["added", "part-bloat"],
          ].map(([name, style]) =>
            h("li", {}, h("span", { class: `dot ${style}`, "aria-hidden": "true" }), name),
          ),
        ),
      ],
      wide: true,
    },
    rows.map((row) => {
      const added = Math.min(row.added_bytes_peak, row.huge_bytes_peak);
      return {
        name: nameOf(row, limits),
        parts: [
          {
            name: "in huge pages, used before",
            value: row.huge_bytes_peak - added,
            style: "part-huge",
            tip: `${size(row.huge_bytes_peak)} in huge pages at most`,
          },
          { name: "added", value: added, style: "part-bloat", tip: `${size(added)} added at most` },
        ],
      };
    }),
    "bytes",
    size,
  );
  const table = tableFigure({ name: "policies", title: "Every policy", wide: true }, rows, [
    { name: "policy", title: "policy", value: (row) => nameOf(row, false) },
    { name: "max_added", title: "allowed", value: (row) => row.max_added },
    {
      name: "promotions",
      title: "promoted",
      value: (row) => row.promotions,
      text: grouped,
      bars: true,
    },
    { name: "demotions", title: "demoted", value: (row) => row.demotions, text: grouped },
    {
      name: "broken_by_programs",
      title: "demoted by the program",
      value: (row) => row.broken_by_programs,
      text: grouped,
    },
    {
      name: "huge_bytes_peak",
      title: "in huge pages at most",
      value: (row) => row.huge_bytes_peak,
      text: size,
      bars: true,
    },
    {
      name: "added_bytes_peak",
      title: "added at most",
      value: (row) => row.added_bytes_peak,
      text: size,
      bars: true,
    },
    { name: "added_bytes", title: "added at the end", value: (row) => row.added_bytes, text: size },
  ]);
  const notes = replayed.dry_run
    ? ["The recorded run only said what it would do, so it made no huge page."]
    : [];
  return [
    answered(records, "A replayed journal"),
    tiles([
      { name: "ticks", value: replayed.ticks },
      { name: "seconds", value: replayed.elapsed_seconds, text: (value) => value.toFixed(1) },
      { name: "decisions", value: replayed.reproduced ? "the same again" : "not the same" },
      { name: "policies", value: rows.length },
    ]),
    h(
      "div",
      { class: "figures" },
      rows.some(({ huge_bytes_peak }) => huge_bytes_peak > 0) ? bars : "",
      table,
      refusalsFigure(rows, "The number of blocks that a policy left as they were, by reason.") ??
        "",
    ),
    provenanceSection({
      ...replayed,
      notes,
      damage: replayed.difference,
      limits: [
        "Estimates assume that programs behave as recorded, " +
          "and that every huge page that was not tried can be made.",
      ],
      more: [
        ["journal", replayed.journal],
        ["written by", replayed.version],
        ["command", replayed.command.join(" ")],
        ["started", new Date(replayed.started * 1000).toISOString()],
      ],
    }),
  ];
}
