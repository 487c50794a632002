// Miss-ratio curves: misses against the entries of a TLB, with the structures of a machine marked.

import { max, min } from "d3-array";
import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { axisX, axisY, drawing, frame } from "../axes";
import { choice, h, s } from "../dom";
import { figure, type Rows } from "../figure";
import { grouped, roundSize, short } from "../format";
import { BASELINE, distinct } from "../gain";
import type { Cell, CurvePoint, Structure } from "../records";
import { colour, dashes } from "../state";

const FULL = "full";

/** Returns true if a point has the associativity: ways, or one set of all entries. */
const hasWays = (point: CurvePoint, ways: string): boolean =>
  ways === FULL ? point.sets === 1 : point.ways === Number(ways);

const entries = (point: { sets: number; ways: number }): number => point.sets * point.ways;

export interface CurveMachine {
  name: string;
  structures: Structure[];
}

export function curvesFigure(
  cells: Cell[],
  machines: CurveMachine[],
  advised: Map<string, string>,
): HTMLElement {
  const all = cells.filter((cell) => cell.curve);
  const names = distinct(all, "machine");
  // Machines may have other page sizes, and so other curves.
  let machine = names[0] ?? "";
  let here: Cell[] = [];
  let sizes: number[] = [];
  let ways: number[] = [];
  let chosenWays = FULL;
  let chosenSize = 4096;
  let isLog = true;
  /** Takes the curves of a machine. Sizes and ways that it lacks are no longer chosen. */
  const use = (name: string): void => {
    machine = name;
    here = all.filter((cell) => cell.machine === name);
    const points = here.flatMap((cell) => cell.curve ?? []);
    const sorted = (values: number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
    sizes = sorted(points.map((point) => point.page_size));
    ways = sorted(points.filter((point) => point.sets > 1).map((point) => point.ways));
    if (!sizes.includes(chosenSize)) chosenSize = sizes[0] ?? 4096;
    if (!ways.includes(Number(chosenWays))) chosenWays = FULL;
  };
  use(machine);
  chosenSize = sizes[0] ?? chosenSize;
  const shown = new Set([BASELINE, "freebsd", "linux", ...advised.values()]);
  if (!here.some((cell) => shown.has(cell.policy)))
    here.slice(0, 4).forEach((cell) => shown.add(cell.policy));

  const curve = (cell: Cell): CurvePoint[] =>
    (cell.curve ?? [])
      .filter((point) => point.page_size === chosenSize && hasWays(point, chosenWays))
      .sort((one, other) => entries(one) - entries(other));
  const marks = () =>
    (machines.find(({ name }) => name === machine)?.structures ?? []).filter((structure) =>
      structure.sizes.includes(chosenSize),
    );

  const draw = (width: number): Node => {
    const curves = here
      .filter((cell) => shown.has(cell.policy))
      .map((cell) => ({ cell, points: curve(cell) }));
    const points = curves.flatMap((one) => one.points);
    const at = frame(width, Math.max(320, Math.min(440, width * 0.55)));
    at.top = 34;
    const rate = (point: CurvePoint): number => (1000 * point.misses) / (here[0]?.accesses || 1);
    const x = scaleLog()
      .base(2)
      .domain([min(points, entries) ?? 1, max(points, entries) ?? 2])
      .range([at.left, at.right]);
    const least =
      min(
        points.filter((point) => point.misses > 0),
        rate,
      ) ?? 1;
    const range = [at.bottom, at.top];
    const y = isLog
      ? scaleLog()
          .domain([least * 0.8, 1.25 * Math.max(max(points, rate) ?? 1, 2 * least)])
          .range(range)
      : scaleLinear()
          .domain([0, max(points, rate) || 1])
          .range(range)
          .nice();
    // A scale of ratios has no zero: such points lie on the axis.
    const height = (point: CurvePoint): number =>
      isLog && point.misses === 0 ? at.bottom : y(rate(point));
    const ticksY = isLog
      ? y.ticks(20).filter((tick) => Number.isInteger(Math.log10(tick)))
      : y.ticks(5);
    const svg = drawing(
      width,
      at.height,
      `Misses per 1,000 accesses against TLB entries, ${roundSize(chosenSize)} pages`,
    );
    const powers = x.ticks().filter((tick) => Number.isInteger(Math.log2(tick)));
    svg.append(
      axisX(at, x, "entries of the TLB", (value) => short(value), powers),
      axisY(at, y, "misses per 1,000 accesses", (value) => `${+value.toPrecision(3)}`, ticksY),
    );
    marks().forEach((structure, place) => {
      const at_x = x(Math.min(entries(structure), x.domain()[1]));
      const right = at_x < (at.left + at.right) / 2;
      svg.append(
        s(
          "g",
          { class: "mark" },
          s("line", { x1: at_x, x2: at_x, y1: at.top - 4, y2: at.bottom }),
          s(
            "text",
            {
              x: at_x + (right ? 5 : -5),
              y: at.top + 8 + 15 * place,
              "text-anchor": right ? "start" : "end",
            },
            `${structure.name}: ${grouped(entries(structure))} entries, ${structure.ways} ways`,
          ),
        ),
      );
    });
    const path = line<CurvePoint>((point) => x(entries(point)), height);
    for (const { cell, points } of curves) {
      const stroke = `stroke:${colour(cell.policy)}`;
      svg.append(
        s(
          "g",
          { class: "series", "data-policy": cell.policy },
          s("path", {
            d: path(points) ?? "",
            style: stroke,
            "stroke-dasharray": dashes(cell.policy),
          }),
          points.map((point) =>
            s("circle", {
              cx: x(entries(point)),
              cy: height(point),
              r: 5,
              class: "dot-target",
              style: `fill:${colour(cell.policy)}`,
              "data-policy": cell.policy,
              "data-misses": point.misses,
              "data-tip":
                `${cell.policy}\n${grouped(entries(point))} entries: ` +
                `${grouped(point.misses)} misses\n` +
                `${rate(point).toPrecision(3)} per 1,000 accesses`,
            }),
          ),
        ),
      );
    }
    return svg;
  };
  const rows = (): Rows => [
    ["policy", "machine", "page_size", "sets", "ways", "entries", "misses"],
    ...here.flatMap((cell) =>
      (cell.curve ?? []).map((point) => [
        cell.policy,
        cell.machine,
        point.page_size,
        point.sets,
        point.ways,
        entries(point),
        point.misses,
      ]),
    ),
  ];
  const redraw = (): void => made.redraw();
  const ofMachine = h("div", { class: "same-row" });
  const fillPickers = (): void =>
    ofMachine.replaceChildren(
      choice(
        "Pages of",
        sizes.map((value) => ({ value: `${value}`, text: roundSize(value) })),
        `${chosenSize}`,
        (value) => {
          chosenSize = Number(value);
          redraw();
        },
      ),
      choice(
        "Ways",
        [
          { value: FULL, text: "fully associative" },
          ...ways.map((value) => ({ value: `${value}`, text: `${value}` })),
        ],
        chosenWays,
        (value) => {
          chosenWays = value;
          redraw();
        },
      ),
    );
  fillPickers();
  const pickers = [
    ofMachine,
    choice(
      "Misses",
      ["scale of ratios", "from zero"].map((value) => ({ value, text: value })),
      "",
      (value) => {
        isLog = value !== "from zero";
        redraw();
      },
    ),
  ];
  if (names.length > 1) {
    pickers.unshift(
      choice(
        "Machine",
        names.map((name) => ({ value: name, text: name })),
        machine,
        (value) => {
          use(value);
          fillPickers();
          redraw();
        },
      ),
    );
  }
  const legend = h(
    "fieldset",
    { class: "legend" },
    h("legend", {}, "Policies"),
    distinct(all, "policy").map((policy) => {
      const box = h("input", {
        type: "checkbox",
        checked: shown.has(policy),
        onchange: () => {
          box.checked ? shown.add(policy) : shown.delete(policy);
          redraw();
        },
      });
      const dot = h("span", {
        class: "dot",
        style: `background:${colour(policy)}`,
        "aria-hidden": "true",
      });
      return h("label", { class: "check", "data-policy": policy }, box, dot, h("code", {}, policy));
    }),
  );
  const made = figure({
    name: "curves",
    title: "How many TLB entries the program needs",
    lead: [
      "Misses of TLBs of every size, with exact LRU. ",
      machines.length > 0
        ? `Lines mark the TLB of ${machines.map(({ name }) => name).join(", or ")}.`
        : "",
    ],
    controls: [...pickers, legend],
    draw,
    rows,
    note: "A miss counts among lookups of pages that the page table held in this size.",
  });
  return made.element;
}
