// Memory over time as small drawings: areas of resident pages, and strips of heat.

import { scaleSqrt } from "d3-scale";
import { area, curveStepAfter } from "d3-shape";
import { s } from "./dom";
import { short } from "./format";
import type { AddressMap, MapMapping, MapState } from "./records";

/** The bytes of a page of the map. */
export const PAGE = 4096;

/** Parts of resident memory, from the bottom. They add up to the resident pages. */
export const PARTS = [
  { name: "small pages", style: "part-base" },
  { name: "in huge pages, used", style: "part-huge" },
  { name: "never used", style: "part-bloat" },
];

/** The heights of the parts in a state. Wasted pages lie in huge pages where there are any. */
function parts([, populated, promoted, wasted]: MapState): [number, number, number] {
  const inHuge = Math.min(wasted, promoted);
  return [populated - promoted - (wasted - inHuge), promoted - inHuge, wasted];
}

/** The state that holds in each bin: at its end. */
export function stateAt(states: MapState[], bin: number): MapState {
  let found: MapState = [bin, 0, 0, 0];
  for (const state of states) {
    if (state[0] > bin) break;
    found = state;
  }
  return found;
}

/** The sum of states, at each bin at which one changes. */
export function summed(all: MapState[][]): MapState[] {
  const bins = [...new Set(all.flatMap((states) => states.map(([bin]) => bin)))];
  return bins
    .sort((one, other) => one - other)
    .map((bin) =>
      all.reduce<MapState>(
        (sum, states) => {
          const [, populated, promoted, wasted] = stateAt(states, bin);
          return [bin, sum[1] + populated, sum[2] + promoted, sum[3] + wasted];
        },
        [bin, 0, 0, 0],
      ),
    );
}

/** Areas of resident pages over time. `x` places the edge of a bin, `y` a number of pages. */
export function areas(
  states: MapState[],
  bins: number,
  x: (edge: number) => number,
  y: (pages: number) => number,
): SVGGElement {
  // A state holds from the bin at whose end it was seen.
  const last = states[states.length - 1];
  const points = last ? [...states, [bins, last[1], last[2], last[3]] as MapState] : [];
  const group = s("g", { "aria-hidden": "true" });
  PARTS.forEach((part, number) => {
    const below = (state: MapState): number =>
      parts(state)
        .slice(0, number)
        .reduce((sum, height) => sum + height, 0);
    const shape = area<MapState>()
      .x((state) => x(state[0]))
      .y0((state) => y(below(state)))
      .y1((state) => y(below(state) + (parts(state)[number] ?? 0)))
      .curve(curveStepAfter);
    const path = shape(points);
    if (path) group.append(s("path", { d: path, class: part.style }));
  });
  return group;
}

/** The number of shades of heat. */
const SHADES = 8;

/** Shades for cycles up to the most. The root makes rare walks visible beside common ones. */
export function shadeOf(most: number): (cycles: number) => number {
  const scale = scaleSqrt().domain([0, Math.max(1, most)]).range([0, SHADES]);
  return (cycles) => (cycles <= 0 ? 0 : Math.max(1, Math.ceil(scale(cycles))));
}

/** A strip of heat: bins of equal shades are one rectangle. */
export function strip(
  cycles: number[],
  x: (edge: number) => number,
  top: number,
  height: number,
  shade: (cycles: number) => number,
): SVGPathElement[] {
  const paths = new Map<number, string>();
  let bin = 0;
  while (bin < cycles.length) {
    const here = shade(cycles[bin] ?? 0);
    let end = bin + 1;
    while (end < cycles.length && shade(cycles[end] ?? 0) === here) end += 1;
    if (here > 0) {
      const [left, right] = [x(bin), x(end)].map((edge) => edge.toFixed(1));
      const box = `M${left} ${top}H${right}v${height}H${left}z`;
      paths.set(here, (paths.get(here) ?? "") + box);
    }
    bin = end;
  }
  return [...paths].map(([here, d]) =>
    s("path", { d, class: "heat-cell", "fill-opacity": (here / SHADES).toFixed(3) }),
  );
}

/** The key of shades of heat: a strip, and the cycles at its ends. */
export function heatKey(left: number, top: number, most: number): SVGGElement {
  const group = s("g", { class: "axis", "aria-hidden": "true" });
  const name = s("text", { x: left, y: top + 9 }, "walk cycles of a bin: 0");
  group.append(name);
  for (let shade = 1; shade <= SHADES; shade += 1) {
    group.append(
      s("rect", {
        x: left + 128 + shade * 11,
        y: top,
        width: 11,
        height: 10,
        class: "heat-cell",
        "fill-opacity": (shade / SHADES).toFixed(3),
      }),
    );
  }
  group.append(s("text", { x: left + 128 + (SHADES + 1) * 11 + 6, y: top + 9 }, short(most)));
  return group;
}

/** An address in hexadecimal. */
export function address(value: number): string {
  return `0x${value.toString(16)}`;
}

/** The name of a mapping: its file, or its kind of memory. */
export function mappingName(mapping: MapMapping, map: AddressMap): string {
  const spaces = new Set(map.mappings.map(({ space }) => space));
  const program = spaces.size > 1 && mapping.program !== "" ? `${mapping.program}: ` : "";
  if (mapping.mappings !== undefined) return `${mapping.mappings} more mappings`;
  const file = mapping.path?.split("/").pop();
  if (mapping.backing === "file" && file) return program + file;
  const kind = mapping.backing?.replaceAll("-", " ") ?? "memory";
  return program + (file ? `${kind} of ${file}` : kind);
}
