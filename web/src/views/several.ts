// Several traces on one page: the means over all, and the comparison that the reader chooses.

import { choice, h } from "../dom";
import { tableFigure } from "../figures/table";
import { from } from "../origin";
import { kind, type AnyRecord, type Comparison } from "../records";
import { comparisonParts, type Beside } from "./compare";

/** The means of a policy's ratios to `4k`, on one machine: a row of `broadleaf.comparisons/1`. */
interface Mean {
  policy: string;
  machine: string;
  traces: number;
  walk_cycles_mean: number | null;
  walk_cycles_geometric_mean: number | null;
  added_share_mean: number | null;
  run_time_ratio_geometric_mean: number | null;
}

interface Several extends AnyRecord {
  comparisons: Comparison[];
  means: Mean[];
}

function meansFigure(means: Mean[], traces: number): HTMLElement {
  const machines = new Set(means.map(({ machine }) => machine)).size > 1;
  const three = (value: number): string => value.toPrecision(3);
  return tableFigure(
    {
      name: "means",
      title: `Means over ${traces} traces`,
      lead: ["Each value is divided by that of 4k on the same trace first. Less is better."],
      wide: true,
    },
    means,
    [
      {
        name: "policy",
        title: machines ? "policy and machine" : "policy",
        value: ({ policy, machine }) => (machines ? `${policy} on ${machine}` : policy),
      },
      {
        name: "walk_cycles_geometric_mean",
        title: "walk cycles, geometric",
        value: (mean) => mean.walk_cycles_geometric_mean,
        text: three,
        bars: true,
      },
      {
        name: "walk_cycles_mean",
        title: "walk cycles, arithmetic",
        value: (mean) => mean.walk_cycles_mean,
        text: three,
      },
      {
        name: "added_share_mean",
        title: "memory added",
        value: (mean) => mean.added_share_mean,
        text: three,
        bars: true,
      },
      {
        name: "run_time_ratio_geometric_mean",
        title: "run time of 4k over this",
        value: (mean) => mean.run_time_ratio_geometric_mean,
        text: three,
      },
      { name: "traces", title: "traces", value: ({ traces: counted }) => counted },
    ],
  );
}

/** The page of several traces: the answer and the figures of one, and the means over all. */
export function severalView(record: AnyRecord, beside: Beside, records: AnyRecord[]): Node[] {
  const { comparisons, means } = record as Several;
  // References are in the order of the traces.
  const references = records.filter((one) => kind(one) === "references");
  // Means belong to no trace.
  from({ provenance: comparisons[0]?.provenance });
  const overAll = meansFigure(means, comparisons.length);
  const head = h("div", { "aria-live": "polite" });
  const figures = h("div", { class: "figures" });
  const origins = h("div", {});
  const show = (place: number): void => {
    const comparison = comparisons[place];
    if (!comparison) return;
    const own = (references[place]?.["results"] ?? []) as Beside["references"];
    const others = comparisons.filter((other) => other !== comparison);
    const parts = comparisonParts(comparison, { ...beside, references: own }, others);
    head.replaceChildren(...parts.head);
    // The difference, which is added later, stays the last figure.
    const difference = figures.querySelector("#difference") ?? "";
    figures.replaceChildren(overAll, ...parts.figures, difference);
    origins.replaceChildren(parts.origins);
  };
  show(0);
  const options = comparisons.map(({ trace }, place) => ({
    value: String(place),
    text: trace.path,
  }));
  return [
    h(
      "div",
      { class: "controls trace" },
      choice("Trace", options, "0", (value) => show(Number(value))),
    ),
    head,
    figures,
    origins,
  ];
}
