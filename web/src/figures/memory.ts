// Memory over time: what is resident under each policy, and what of it lies in huge pages.

import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, curveStepAfter, line } from "d3-shape";
import { axisX, axisY, drawing, frame } from "../axes";
import { choice, h, s } from "../dom";
import { figure, type Rows } from "../figure";
import { grouped, roundSize, short, size } from "../format";
import { distinct } from "../gain";
import type { Cell, MemorySample } from "../records";
import { colour, dashes } from "../state";

const EVERY = "every policy";

/** Parts of resident memory, from the bottom. They add up to `resident_pages`. */
const PARTS = [
  {
    name: "base pages",
    style: "part-base",
    of: (x: MemorySample) => x.resident_pages - x.superpage_pages,
  },
  {
    name: "in huge pages, used",
    style: "part-huge",
    of: (x: MemorySample) => x.superpage_pages - Math.min(x.bloat_pages, x.superpage_pages),
  },
  {
    name: "in huge pages, never used",
    style: "part-bloat",
    of: (x: MemorySample) => Math.min(x.bloat_pages, x.superpage_pages),
  },
];

export function memoryFigure(cells: Cell[]): HTMLElement {
  const first = distinct(cells, "machine")[0];
  const here = cells.filter((cell) => cell.machine === first && (cell.over_time?.length ?? 0) > 1);
  const page = here[0]?.base_page_bytes ?? 4096;
  let chosen = here.length > 1 ? EVERY : (here[0]?.policy ?? "");
  const shown = (): Cell[] => here.filter((cell) => chosen === EVERY || cell.policy === chosen);
  const samples = (cell: Cell): MemorySample[] => cell.over_time ?? [];

  const draw = (width: number): Node => {
    const at = frame(width, Math.max(300, Math.min(420, width * 0.5)), 68);
    const all = shown().flatMap(samples);
    const x = scaleLinear()
      .domain([0, max(all, (sample) => sample.time) ?? 1])
      .range([at.left, at.right]);
    const y = scaleLinear()
      .domain([0, (max(all, (sample) => sample.resident_pages) ?? 1) * page])
      .range([at.bottom, at.top]);
    const svg = drawing(width, at.height, `Memory over time: ${chosen}`);
    const step = 2 ** Math.ceil(Math.log2(Math.max(1, y.domain()[1] / 5)));
    const ticks = Array.from({ length: 6 }, (_, i) => i * step).filter(
      (tick) => tick <= y.domain()[1],
    );
    svg.append(
      axisX(at, x, "accesses", (value) => short(value)),
      axisY(at, y, "resident memory", roundSize, ticks),
    );
    if (chosen !== EVERY) {
      const cell = shown()[0];
      if (!cell) return svg;
      let below = samples(cell).map(() => 0);
      for (const part of PARTS) {
        const bottom = below;
        const top = samples(cell).map((sample, i) => (bottom[i] ?? 0) + part.of(sample));
        const shape = area<MemorySample>()
          .x((sample) => x(sample.time))
          .y0((_, i) => y((bottom[i] ?? 0) * page))
          .y1((_, i) => y((top[i] ?? 0) * page))
          .curve(curveStepAfter);
        svg.append(s("path", { d: shape(samples(cell)) ?? "", class: part.style }));
        below = top;
      }
    } else {
      const path = line<MemorySample>(
        (sample) => x(sample.time),
        (sample) => y(sample.resident_pages * page),
      ).curve(curveStepAfter);
      for (const cell of shown()) {
        svg.append(
          s(
            "g",
            { class: "series", "data-policy": cell.policy },
            s("path", {
              d: path(samples(cell)) ?? "",
              style: `stroke:${colour(cell.policy)}`,
              "stroke-dasharray": dashes(cell.policy),
            }),
          ),
        );
      }
    }
    for (const cell of shown()) {
      for (const sample of samples(cell)) {
        svg.append(
          s("circle", {
            cx: x(sample.time),
            cy: y(sample.resident_pages * page),
            r: 4,
            class: "dot-target",
            style: `fill:${colour(cell.policy)}`,
            "data-policy": cell.policy,
            "data-resident": sample.resident_pages,
            "data-tip":
              `${cell.policy} after ${grouped(sample.time)} accesses\n` +
              `${size(sample.resident_pages * page)} resident\n` +
              `${size(sample.superpage_pages * page)} in huge pages\n` +
              `${size(sample.bloat_pages * page)} brought in and never used`,
          }),
        );
      }
    }
    return svg;
  };
  const legend = h("ul", { class: "key" });
  const fillLegend = (): void => {
    const items =
      chosen === EVERY
        ? here.map((cell) => ({
            name: cell.policy,
            style: `background:${colour(cell.policy)}`,
            class: "dot",
          }))
        : PARTS.map((part) => ({ name: part.name, style: "", class: `dot ${part.style}` }));
    legend.replaceChildren(
      ...items.map((item) =>
        h(
          "li",
          {},
          h("span", { class: item.class, style: item.style, "aria-hidden": "true" }),
          item.name,
        ),
      ),
    );
  };
  const fields = [
    ...new Set(here.flatMap((cell) => samples(cell).flatMap((sample) => Object.keys(sample)))),
  ].filter((name) =>
    here.every((cell) => samples(cell).every((sample) => typeof sample[name] === "number")),
  );
  const rows = (): Rows => [
    ["policy", ...fields],
    ...shown().flatMap((cell) =>
      samples(cell).map((sample) => [cell.policy, ...fields.map((name) => sample[name] as number)]),
    ),
  ];
  const options = [...(here.length > 1 ? [EVERY] : []), ...here.map((cell) => cell.policy)];
  fillLegend();
  const made = figure({
    name: "memory",
    title: "Memory over time",
    lead: ["What is resident, from the first access to the last. One policy shows its parts."],
    controls: [
      choice(
        "Show",
        options.map((value) => ({ value, text: value })),
        chosen,
        (value) => {
          chosen = value;
          fillLegend();
          made.redraw();
        },
      ),
      legend,
    ],
    draw,
    rows,
  });
  return made.element;
}
