// Gain against memory: one point for each policy, and the line of those that no other beats.

import { extent } from "d3-array";
import { scaleLinear, scaleLog, scalePow } from "d3-scale";
import { axisX, axisY, drawing, frame } from "../axes";
import { choice, s } from "../dom";
import { figure, type Rows } from "../figure";
import { percent, short, size } from "../format";
import { addedBytes, cyclesName, frontier, lostCycles, onMachine, saved } from "../gain";
import type { Cell } from "../records";
import { colour } from "../state";

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const meets = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

/** Zero, and round sizes up to the largest. */
function binaryTicks(most: number, count: number): number[] {
  const step = 2 ** Math.round(Math.log2(Math.max(4096, most / count)));
  const all = Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
  // On a scale of roots, the first step has room for more.
  return all.length > 1 ? [0, step / 4, ...all.slice(1)] : all;
}

/** Places labels beside their points, without overlaps. The first labels have the first choice. */
function labels(
  points: { x: number; y: number; text: string }[],
  at: { left: number; right: number; top: number },
) {
  const taken: Box[] = points.map(({ x, y }) => ({ x: x - 5, y: y - 5, width: 10, height: 10 }));
  return points.map(({ x, y, text }) => {
    const width = 6.9 * text.length;
    // The line of the frontier leaves a point to the right, and comes from below.
    const places = [
      { x: x + 9, y: y - 24 },
      { x: x - 10 - width, y: y - 7 },
      { x: x - width / 2, y: y - 24 },
      { x: x + 10, y: y - 7 },
      { x: x - width / 2, y: y + 9 },
    ];
    const free = places
      .map((place) => ({ ...place, width, height: 15 }))
      .find(
        (box) =>
          box.x >= at.left &&
          box.x + width <= at.right &&
          box.y >= 0 &&
          !taken.some((other) => meets(box, other)),
      );
    if (free) taken.push(free);
    return free;
  });
}

export function frontierFigure(
  cells: Cell[],
  baselines: Cell[],
  advised: Map<string, string>,
): HTMLElement {
  const machines = baselines.map((cell) => cell.machine);
  let machine = machines[0] ?? "";
  const now = () => {
    const baseline = baselines.find((cell) => cell.machine === machine) as Cell;
    return {
      baseline,
      here: onMachine(cells, machine).filter((cell) => cell.out_of_memory_after === undefined),
    };
  };
  const draw = (width: number): Node => {
    const { baseline, here } = now();
    const best = frontier(here, baseline);
    const at = frame(width, Math.max(300, Math.min(440, width * 0.62)));
    const [low = 0, high = 0] = extent(here, (cell) => addedBytes(cell, baseline));
    // A root spreads small amounts, where most policies are.
    const x = scalePow()
      .exponent(0.5)
      .domain([Math.min(0, low), Math.max(high, 4096)])
      .range([at.left + 8, at.right - 12])
      .nice();
    // Few cycles are at the top. Policies that differ by much need a scale of ratios.
    const cycles = [...here, baseline].map(lostCycles);
    const [fewest, most] = [Math.max(1, Math.min(...cycles)), Math.max(2, ...cycles)];
    const range = [at.top + 12, at.bottom - 10];
    const isLog = most > 12 * fewest;
    const y = isLog
      ? scaleLog()
          .domain([fewest * 0.8, most * 1.25])
          .range(range)
      : scaleLinear()
          .domain([fewest - (most - fewest) / 8, most])
          .range(range)
          .nice();
    const ticksY = isLog
      ? y.ticks(20).filter((tick) => Number.isInteger(Math.log10(tick)))
      : y.ticks(5);
    const svg = drawing(
      width,
      at.height,
      `Gain against memory on ${machine}, a point for each policy`,
    );
    const place = (cell: Cell) => ({
      x: x(addedBytes(cell, baseline)),
      y: y(Math.max(lostCycles(cell), isLog ? 1 : 0)),
      text: cell.policy,
    });
    const steps = best.map(place);
    const path = steps
      .map((point, i) => (i === 0 ? `M${point.x},${point.y}` : `H${point.x}V${point.y}`))
      .join("");
    const ticks = binaryTicks(x.domain()[1], Math.max(3, Math.floor(width / 130)));
    svg.append(
      axisX(at, x, "memory added at the peak", size, ticks),
      axisY(
        at,
        y,
        `${cyclesName(baseline)} that remain${isLog ? ", scale of ratios" : ""}`,
        short,
        ticksY,
      ),
      s("path", { d: `${path}H${at.right - 4}`, class: "frontier", "aria-hidden": "true" }),
    );
    const chosen = advised.get(machine);
    // The choice and the frontier have their labels first.
    const rank = (cell: Cell): number => (cell.policy === chosen ? 0 : best.includes(cell) ? 1 : 2);
    const order = [...here].sort((one, other) => rank(one) - rank(other));
    const boxes = labels(order.map(place), at);
    const points = order.map((cell, i) => {
      const point = place(cell);
      const box = boxes[i];
      const text =
        `${cell.policy}: saves ${percent(saved(cell, baseline))} of the ${cyclesName(baseline)}, ` +
        `adds ${size(addedBytes(cell, baseline))}`;
      const tip =
        `${cell.policy}\nsaves ${percent(saved(cell, baseline))}: ${short(lostCycles(cell))} of ` +
        `${short(lostCycles(baseline))} ${cyclesName(baseline)} remain\n` +
        `adds ${size(addedBytes(cell, baseline))} ` +
        `at the peak${rank(cell) < 2 && best.includes(cell) ? "\non the frontier" : ""}`;
      return s(
        "g",
        {
          class: [
            "point",
            best.includes(cell) && "is-best",
            cell.policy === chosen && "is-chosen",
          ]
            .filter(Boolean)
            .join(" "),
          tabindex: 0,
          role: "img",
          "aria-label": text,
          "data-tip": tip,
          "data-policy": cell.policy,
          "data-saved": lostCycles(baseline) - lostCycles(cell),
          "data-added": addedBytes(cell, baseline),
        },
        s("circle", { cx: point.x, cy: point.y, r: 13, class: "target" }),
        cell.policy === chosen && s("circle", { cx: point.x, cy: point.y, r: 10, class: "ring" }),
        s("circle", {
          cx: point.x,
          cy: point.y,
          r: best.includes(cell) ? 5.5 : 4,
          style: `fill:${colour(cell.policy)}`,
        }),
        box && s("text", { x: box.x, y: box.y + 11, class: "label" }, cell.policy),
      );
    });
    svg.append(...points.reverse());
    return svg;
  };
  const rows = (): Rows => {
    const { baseline, here } = now();
    const best = frontier(here, baseline);
    return [
      ["policy", "machine", "cycles", "saved_cycles", "saved_share", "added_bytes", "on_frontier"],
      ...here.map((cell) => [
        cell.policy,
        machine,
        lostCycles(cell),
        lostCycles(baseline) - lostCycles(cell),
        saved(cell, baseline),
        addedBytes(cell, baseline),
        best.includes(cell) ? "yes" : "no",
      ]),
    ];
  };
  const pick = (value: string): void => {
    machine = value;
    made.redraw();
  };
  const options = machines.map((value) => ({ value, text: value }));
  const made = figure({
    name: "frontier",
    title: "What a gain costs in memory",
    lead: [
      "Up is faster, left is smaller. ",
      "The line joins the policies that no other policy beats in both. ",
      "A ring marks the choice.",
    ],
    controls: machines.length > 1 ? [choice("Machine", options, machine, pick)] : [],
    draw,
    rows,
  });
  return made.element;
}
