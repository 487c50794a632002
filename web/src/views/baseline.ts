// The page of `run --baseline`: a program with small pages and with huge pages, in turns.

import { tiles } from "../answer";
import { answered } from "../answered";
import { h } from "../dom";
import { barsFigure } from "../figures/bars";
import { tableFigure } from "../figures/table";
import { grouped, percent, size } from "../format";
import { provenanceSection } from "../provenance";
import type { AnyRecord, Provenance } from "../records";
import { median } from "../results";

interface RunFigures {
  elapsed_seconds: number;
  user_seconds: number;
  system_seconds: number;
  page_faults: number;
  rss_bytes_peak: number;
  huge_bytes_peak: number | null;
  tlb_misses: number | null;
  cycles: number | null;
}

interface Baseline extends AnyRecord {
  command: string[];
  policy: string;
  with: RunFigures[];
  without: RunFigures[];
  base_pages: RunFigures[];
  huge_pages: RunFigures[];
  provenance: Provenance;
}

export function baselineView(record: AnyRecord, _: unknown, records: AnyRecord[]): Node[] {
  const report = record as Baseline;
  const ways: [string, RunFigures[]][] = [
    ["4 KiB pages", report.base_pages],
    ["as the system is set", report.without],
    [report.policy, report.with],
    ["all huge pages", report.huge_pages],
  ];
  const rounds = ways.flatMap(([way, runs]) =>
    runs.map((run, number) => ({ way, round: number + 1, run })),
  );
  const seconds = (value: number): string => `${value.toFixed(3)} s`;
  const bars = barsFigure(
    {
      name: "times",
      title: "Processor time of each run",
      lead: [
        "Runs of a round come in turns. ",
        "User time changes with TLB misses, system time with faults.",
      ],
      controls: [
        h(
          "ul",
          { class: "key" },
          [
            ["user time", "part-base"],
            ["system time", "part-bloat"],
          ].map(([name, style]) =>
            h("li", {}, h("span", { class: `dot ${style}`, "aria-hidden": "true" }), name),
          ),
        ),
      ],
      wide: true,
    },
    rounds.map(({ way, round, run }) => ({
      name: `${way}, round ${round}`,
      parts: [
        {
          name: "user seconds",
          value: run.user_seconds,
          style: "part-base",
          tip: `user ${seconds(run.user_seconds)}`,
        },
        {
          name: "system seconds",
          value: run.system_seconds,
          style: "part-bloat",
          tip: `system ${seconds(run.system_seconds)}`,
        },
      ],
    })),
    "seconds of a processor",
    (value) => `${value}`,
  );
  const table = tableFigure(
    { name: "runs", title: "Every run", wide: true },
    rounds,
    [
      { name: "way", title: "pages", value: ({ way }) => way },
      { name: "round", title: "round", value: ({ round }) => round },
      {
        name: "user_seconds",
        title: "user time",
        value: ({ run }) => run.user_seconds,
        text: seconds,
        bars: true,
      },
      {
        name: "system_seconds",
        title: "system time",
        value: ({ run }) => run.system_seconds,
        text: seconds,
        bars: true,
      },
      {
        name: "elapsed_seconds",
        title: "elapsed",
        value: ({ run }) => run.elapsed_seconds,
        text: seconds,
      },
      {
        name: "page_faults",
        title: "page faults",
        value: ({ run }) => run.page_faults,
        text: grouped,
      },
      {
        name: "rss_bytes_peak",
        title: "most memory",
        value: ({ run }) => run.rss_bytes_peak,
        text: size,
      },
      {
        name: "huge_bytes_peak",
        title: "in huge pages",
        value: ({ run }) => run.huge_bytes_peak,
        text: size,
      },
      {
        name: "tlb_misses",
        title: "TLB misses",
        value: ({ run }) => run.tlb_misses,
        text: grouped,
      },
    ],
  );
  const middle = (runs: RunFigures[]): number =>
    median(runs.map((run) => run.user_seconds)) ?? 0;
  const base = middle(report.base_pages);
  const change = (share: number): string =>
    share < 0 ? `${percent(-share)} more` : `${percent(share)} less`;
  return [
    answered(records, "A program in turns"),
    tiles(
      ways.map(([name, runs]) => ({
        name: `user time, ${name}`,
        value: middle(runs),
        text: seconds,
        note:
          runs === report.base_pages || base === 0
            ? undefined
            : change(1 - middle(runs) / base),
      })),
    ),
    h("div", { class: "figures" }, bars, table),
    provenanceSection({
      ...report,
      notes: [],
      limits: [
        "Times are medians of rounds on this machine, at this time. Other work disturbs them.",
      ],
      more: [["command", report.command.join(" ")]],
    }),
  ];
}
