// The page of `advise`: the ranges of memory that are worth huge pages.

import { tiles, timesOf, type Tile } from "../answer";
import { answered } from "../answered";
import { h } from "../dom";
import { barsFigure } from "../figures/bars";
import { icicleFigure } from "../figures/icicle";
import { mapFigures } from "../figures/map";
import { tableFigure } from "../figures/table";
import { grouped, percent, short, size } from "../format";
import { lostCycles } from "../gain";
import { provenanceSection } from "../provenance";
import type {
  AddressMap,
  Advice,
  AnyRecord,
  Cell,
  Provenance,
  TraceSummary,
} from "../records";
import { assignColours } from "../state";
import { address } from "../spacetime";

interface Range {
  space: number;
  pid: number | null;
  start: number;
  end: number;
  superpages: number;
  mapping: { backing: string; path?: string } | null;
  walks_spared: number;
  walk_cycles_spared: number;
  faults_spared: number;
  added_bytes: number;
  cycles_gained: number;
  gained_per_kib: number;
}

interface Frame {
  function: string;
  file: string;
  line: number;
}

interface Site extends Frame {
  allocator: string;
  frames: Frame[];
  allocations: number;
  allocated_bytes: number;
  walk_cycles_spared: number;
  cycles_gained: number;
}

interface RangeAdvice extends AnyRecord {
  trace: TraceSummary;
  policy: string;
  machine: string;
  exact: boolean;
  ranges: Range[];
  ranges_left_out: number;
  sites?: Site[];
  advice: Advice;
  results: Cell[];
  maps?: AddressMap[];
  damage: string | null;
  notes: string[];
  provenance: Provenance;
}

const LIMITS = [
  "The figures of a range assume that no other range has huge pages. " +
    "All ranges together may save more or less than their sum.",
  "Walk cycles are no share of the run time. Only a measurement gives seconds.",
  "Memory accesses made by the kernel are not counted.",
];

function mappingOf({ mapping }: Range): string {
  if (!mapping) return "unknown";
  const file = mapping.path?.split("/").pop();
  const kind = mapping.backing.replaceAll("-", " ");
  return file ? `${kind}: ${file}` : kind;
}

function siteName({ function: name, file, line, allocator }: Site): string {
  const place = line > 0 ? ` (${file.split("/").pop()}:${line})` : "";
  return `${name || allocator}${place}`;
}

export function adviseView(record: AnyRecord, _: unknown, records: AnyRecord[]): Node[] {
  const advice = record as RangeAdvice;
  const { ranges, results, trace } = advice;
  assignColours(results.map(({ policy }) => policy));
  const [without, whole] = results;
  const items: Tile[] = [
    { name: "accesses", value: trace.accesses, text: short },
    { name: "ranges", value: ranges.length + advice.ranges_left_out },
  ];
  if (without && whole) {
    const gained = lostCycles(without) - lostCycles(whole);
    const share = 1 - whole.walk_cycles / Math.max(1, without.walk_cycles);
    items.push(
      {
        name: "walk cycles with 4k",
        value: without.walk_cycles,
        text: short,
      },
      {
        name: "with all ranges",
        value: whole.walk_cycles,
        text: short,
      },
      { name: "walk cycles saved", value: share, text: percent },
      { name: "cycles gained, with faults", value: gained, text: short },
    );
  }
  const table = tableFigure(
    {
      name: "ranges",
      title: "Ranges that are worth huge pages",
      lead: [
        advice.exact
          ? "The savings of each range are exact on this machine."
          : "The savings of each range are estimates on this machine.",
      ],
      wide: true,
    },
    ranges,
    [
      { name: "start", title: "range", value: (range) => address(range.start) },
      { name: "mapping", title: "mapping", value: mappingOf },
      {
        name: "bytes",
        title: "size",
        value: (range) => range.end - range.start,
        text: size,
      },
      {
        name: "cycles_gained",
        title: "cycles gained",
        value: (range) => range.cycles_gained,
        text: short,
        bars: true,
      },
      {
        name: "walks_spared",
        title: "walks saved",
        value: (range) => range.walks_spared,
        text: short,
        bars: true,
      },
      {
        name: "walk_cycles_spared",
        title: "walk cycles saved",
        value: (range) => range.walk_cycles_spared,
        text: short,
      },
      {
        name: "faults_spared",
        title: "faults saved",
        value: (range) => range.faults_spared,
        text: short,
      },
      {
        name: "added_bytes",
        title: "memory added",
        value: (range) => range.added_bytes,
        text: size,
        bars: true,
      },
      {
        name: "gained_per_kib",
        title: "gain per KiB",
        value: (range) => range.gained_per_kib,
        text: (value) => value.toPrecision(3),
      },
    ],
    60,
  );
  const sites = (advice.sites ?? []).slice(0, 24);
  const bySite =
    sites.length > 0 &&
    barsFigure(
      {
        name: "sites",
        title: "Lines of the source whose memory gains",
        lead: ["Walk cycles saved by the huge pages of each allocation site."],
        wide: true,
      },
      sites.map((site) => ({
        name: siteName(site),
        parts: [
          {
            name: "walk cycles saved",
            value: site.walk_cycles_spared,
            style: "part-huge",
            tip:
              `${grouped(site.walk_cycles_spared)} walk cycles saved\n` +
              `${size(site.allocated_bytes)} in ${grouped(site.allocations)} allocations\n` +
              site.frames
                .slice(0, 6)
                .map((frame) => frame.function || "?")
                .join(" ← "),
          },
        ],
      })),
      "walk cycles saved",
      short,
    );
  const maps = advice.maps ?? [];
  const figures = [
    ranges.length > 0 && table,
    bySite,
    icicleFigure(maps),
    ...mapFigures(maps),
  ].filter((node): node is HTMLElement => node instanceof Node);
  return [
    answered(records, "Advice", timesOf(advice.advice, whole?.run_time)),
    tiles(items),
    h("div", { class: "figures" }, figures),
    provenanceSection({
      ...advice,
      limits: LIMITS,
      more: [
        ["policy", advice.policy],
        ["machine", advice.machine],
      ],
    }),
  ];
}
