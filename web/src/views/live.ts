// The pages of live processes: `report`, `run` and `attach`.

import { tiles, type Tile } from "../answer";
import { answered } from "../answered";
import { h } from "../dom";
import { barsFigure } from "../figures/bars";
import { refusalsFigure } from "../figures/refusals";
import { tableFigure } from "../figures/table";
import { counted, grouped, size } from "../format";
import { address } from "../spacetime";
import { provenanceSection } from "../provenance";
import type { AnyRecord, Provenance } from "../records";

interface PopulationBar {
  from: number;
  to: number;
  blocks: number;
  anonymous: number;
  shmem: number;
  file: number;
}

interface Forecast {
  policy: string;
  would_promote: number;
  added_bytes: number;
  covered_bytes: number;
  refusals: Record<string, number>;
}

interface Heat {
  source: string;
  source_sentence: string;
  seconds: number;
  blocks_together: number;
  blocks: { address: number; resident_pages: number; used_pages: number }[];
  mappings: { start: number; end: number; name: string; resident_bytes: number; used_bytes: number }[];
  not_used: string[];
}

/** Neighbouring memory of one process, and how much of it was used. */
interface UsedRange {
  process: string;
  start: number;
  bytes: number;
  resident: number;
  used: number;
}

interface Process {
  pid: number;
  command: string;
  rss_bytes: number;
  huge_bytes: number;
  blocks: { anonymous: number; shmem: number; file: number };
  population_histogram: PopulationBar[];
  policies: Forecast[];
  heat?: Heat;
}

interface LiveReport extends AnyRecord {
  processes: Process[];
  unseen: { pid: number; command: string; reason: string }[];
  notes: string[];
  policy?: string;
  dry_run?: boolean;
  promotions?: number;
  demotions?: number;
  broken_by_programs?: number;
  refusals?: Record<string, number>;
  added_bytes_peak?: number;
  returned_bytes?: number;
  huge_bytes_peak?: number;
  governor_cpu_seconds?: number;
  elapsed_seconds?: number;
  page_faults?: number;
  provenance: Provenance;
}

const LIMITS = [
  "Processes are seen at one moment, or at the moments of a governor. " +
    "What happens between them is not seen.",
  "Memory that is added is an estimate: pages of a huge page that the process may yet use.",
];

/** Blocks by the pages that they hold, over all processes. */
function histogram(processes: Process[]): HTMLElement | null {
  const bars = new Map<string, PopulationBar>();
  for (const bar of processes.flatMap((process) => process.population_histogram)) {
    const name = bar.from === bar.to ? `${bar.from}` : `${bar.from} to ${bar.to}`;
    const sum = bars.get(name) ?? { ...bar, blocks: 0, anonymous: 0, shmem: 0, file: 0 };
    sum.blocks += bar.blocks;
    sum.anonymous += bar.anonymous;
    sum.shmem += bar.shmem;
    sum.file += bar.file;
    bars.set(name, sum);
  }
  if (bars.size === 0) return null;
  const kinds = [
    { name: "anonymous", field: "anonymous", style: "part-huge" },
    { name: "shared memory", field: "shmem", style: "part-base" },
    { name: "files", field: "file", style: "part-bloat" },
  ] as const;
  return barsFigure(
    {
      name: "population",
      title: "How full blocks of 2 MiB are",
      lead: ["Blocks of small pages, by the number of their 512 pages that are resident."],
      controls: [
        h(
          "ul",
          { class: "key" },
          kinds.map(({ name, style }) =>
            h("li", {}, h("span", { class: `dot ${style}`, "aria-hidden": "true" }), name),
          ),
        ),
      ],
    },
    [...bars].map(([name, bar]) => ({
      name,
      parts: kinds.map((kind) => ({
        name: kind.name,
        value: bar[kind.field],
        style: kind.style,
        tip: `${counted(bar[kind.field], "block")} of ${kind.name}`,
      })),
    })),
    "blocks",
    grouped,
  );
}

/** The used memory of a process: neighbouring blocks with and without use, or mappings. */
function usedRanges({ pid, command, heat }: Process): UsedRange[] {
  if (!heat) return [];
  const process = `${pid} ${command}`;
  const ranges: UsedRange[] = [];
  for (const { address: start, resident_pages, used_pages } of heat.blocks) {
    const last = ranges.at(-1);
    const [resident, used] = [resident_pages * PAGE, used_pages * PAGE];
    if (last && last.start + last.bytes === start && last.used > 0 === used > 0) {
      last.bytes += BLOCK;
      last.resident += resident;
      last.used += used;
    } else {
      ranges.push({ process, start, bytes: BLOCK, resident, used });
    }
  }
  if (ranges.length > 0) return ranges;
  return heat.mappings.map(({ start, end, name, resident_bytes, used_bytes }) => ({
    process: name ? `${process}: ${name}` : process,
    start,
    bytes: end - start,
    resident: resident_bytes,
    used: used_bytes,
  }));
}

const PAGE = 4096;
const BLOCK = 512 * PAGE;

function heatFigure(processes: Process[]): HTMLElement | null {
  const known = processes.flatMap(({ heat }) => heat ?? []);
  const [first] = known;
  if (!first) return null;
  const missing = first.not_used.length > 0 ? `Not available: ${first.not_used.join("; ")}.` : "";
  const together =
    first.blocks_together > 1
      ? ` Up to ${first.blocks_together} neighbouring blocks are measured together.`
      : "";
  return tableFigure(
    {
      name: "heat",
      title: `Memory that was used in ${first.seconds.toFixed(1)} s`,
      lead: [`Source: ${first.source}. ${first.source_sentence}${together}`],
      note: missing || undefined,
      wide: true,
    },
    processes.flatMap(usedRanges),
    [
      { name: "start", title: "range", value: ({ start }) => address(start) },
      { name: "process", title: "process", value: ({ process }) => process },
      { name: "bytes", title: "size", value: ({ bytes }) => bytes, text: size },
      { name: "resident_bytes", title: "resident", value: ({ resident }) => resident, text: size },
      { name: "used_bytes", title: "used", value: ({ used }) => used, text: size, bars: true },
    ],
    80,
  );
}

function forecasts(processes: Process[]): HTMLElement | null {
  const gain = ({ policies }: Process): number =>
    Math.max(0, ...policies.map(({ would_promote }) => would_promote));
  // Of many processes, those for which no policy does anything say nothing.
  const some = processes.length > 1 ? processes.filter((process) => gain(process) > 0) : processes;
  const rows = some.flatMap((process) =>
    process.policies.map((forecast) => ({ process, forecast })),
  );
  if (rows.length === 0) return null;
  const several = processes.length > 1;
  return tableFigure(
    {
      name: "forecasts",
      title: "What each policy would do now",
      lead: ["Nothing was changed. Figures are those of the policy without a limit on memory."],
      wide: true,
    },
    rows,
    [
      {
        name: "policy",
        title: several ? "process and policy" : "policy",
        value: ({ process, forecast }) =>
          several
            ? `${process.pid} ${process.command}: ${forecast.policy}`
            : forecast.policy,
      },
      {
        name: "would_promote",
        title: "blocks to promote",
        value: ({ forecast }) => forecast.would_promote,
        text: grouped,
        bars: true,
      },
      {
        name: "covered_bytes",
        title: "in huge pages then",
        value: ({ forecast }) => forecast.covered_bytes,
        text: size,
        bars: true,
      },
      {
        name: "added_bytes",
        title: "memory added",
        value: ({ forecast }) => forecast.added_bytes,
        text: size,
        bars: true,
      },
    ],
    80,
  );
}

function processTable(processes: Process[]): HTMLElement | null {
  if (processes.length < 2) return null;
  return tableFigure(
    { name: "processes", title: "Processes", wide: true },
    processes,
    [
      { name: "process", title: "process", value: ({ pid, command }) => `${pid} ${command}` },
      {
        name: "rss_bytes",
        title: "resident memory",
        value: (one) => one.rss_bytes,
        text: size,
        bars: true,
      },
      {
        name: "huge_bytes",
        title: "in huge pages",
        value: (one) => one.huge_bytes,
        text: size,
        bars: true,
      },
      { name: "anonymous", title: "anonymous blocks", value: ({ blocks }) => blocks.anonymous },
      { name: "shmem", title: "shared blocks", value: ({ blocks }) => blocks.shmem },
      { name: "file", title: "blocks of files", value: ({ blocks }) => blocks.file },
    ],
    80,
  );
}

const seconds =
  (digits: number) =>
  (value: number): string =>
    `${value.toFixed(digits)} s`;

export function liveView(record: AnyRecord, _: unknown, records: AnyRecord[]): Node[] {
  const report = record as LiveReport;
  const { processes } = report;
  const sum = (field: "rss_bytes" | "huge_bytes"): number =>
    processes.reduce((all, process) => all + process[field], 0);
  const items: Tile[] = [
    { name: processes.length === 1 ? "process" : "processes", value: processes.length },
    { name: "resident memory", value: sum("rss_bytes"), text: size },
    { name: "in huge pages", value: sum("huge_bytes"), text: size },
  ];
  const governed = report.policy !== undefined;
  if (governed) {
    items.splice(
      0,
      items.length,
      { name: "promoted", value: report.promotions ?? 0 },
      { name: "demoted", value: report.demotions ?? 0 },
      { name: "demoted by the program", value: report.broken_by_programs ?? 0 },
      { name: "in huge pages at most", value: report.huge_bytes_peak ?? 0, text: size },
      { name: "memory added at most", value: report.added_bytes_peak ?? 0, text: size },
      { name: "governor", value: report.governor_cpu_seconds ?? 0, text: seconds(3) },
      { name: "elapsed", value: report.elapsed_seconds ?? 0, text: seconds(2) },
    );
  }
  const refused = governed
    ? [
        {
          policy: report.policy ?? "",
          promotions: report.promotions ?? 0,
          refusals: report.refusals ?? {},
        },
      ]
    : sumOfRefusals(processes);
  const unseen =
    report.unseen.length > 0 &&
    tableFigure({ name: "unseen", title: "Processes that could not be looked at" }, report.unseen, [
      { name: "process", title: "process", value: ({ pid, command }) => `${pid} ${command}` },
      { name: "reason", title: "reason", value: ({ reason }) => reason },
    ]);
  const figures = [
    heatFigure(processes),
    forecasts(processes),
    processTable(processes),
    histogram(processes),
    refusalsFigure(refused, "The number of blocks that a policy left as they were, by reason."),
    unseen,
  ].filter((node): node is HTMLElement => node instanceof Node);
  return [
    answered(records, "Live processes"),
    tiles(items),
    h("div", { class: "figures" }, figures),
    provenanceSection({ ...report, limits: LIMITS }),
  ];
}

/** The refusals of each policy, over all processes. */
function sumOfRefusals(processes: Process[]) {
  const sums = new Map<string, { promotions: number; refusals: Record<string, number> }>();
  for (const forecast of processes.flatMap((process) => process.policies)) {
    const sum = sums.get(forecast.policy) ?? { promotions: 0, refusals: {} };
    sum.promotions += forecast.would_promote;
    for (const [reason, blocks] of Object.entries(forecast.refusals)) {
      sum.refusals[reason] = (sum.refusals[reason] ?? 0) + blocks;
    }
    sums.set(forecast.policy, sum);
  }
  return [...sums].map(([policy, sum]) => ({ policy, ...sum }));
}
