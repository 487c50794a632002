// The address space over time: a band for each mapping, and a row of heat for each part of it.

import { scaleLinear } from "d3-scale";
import { axisX, drawing } from "../axes";
import { choice, h, s } from "../dom";
import { figure, type Rows } from "../figure";
import { counted, grouped, percent, roundSize, short, size } from "../format";
import type { AddressMap, MapBlock, MapMapping, MapRow } from "../records";
import {
  address,
  areas,
  heatKey,
  mappingName,
  PAGE,
  PARTS,
  shadeOf,
  stateAt,
  strip,
  summed,
} from "../spacetime";
import { blockFigure } from "./block";

/** The mappings that are shown at first. */
const FIRST = 6;
/** The height of the areas of a band. */
const AREA = 34;

/** A number of pages as a size. */
function bytes(pages: number): string {
  return size(pages * PAGE);
}

/** The text beside a band. */
function words(mapping: MapMapping, map: AddressMap, total: number): string[] {
  const share = total > 0 ? mapping.walk_cycles / total : 0;
  const range = mapping.mappings === undefined ? `at ${address(mapping.start)}` : "few walks";
  return [
    mappingName(mapping, map),
    `${range} · ${percent(share)} of walks`,
    `touched ${bytes(mapping.touched_pages)}, populated ${bytes(mapping.populated_pages)}`,
    `promoted ${bytes(mapping.promoted_pages)}, wasted ${bytes(mapping.wasted_pages)}`,
  ];
}

function rowWords(row: MapRow, mapping: MapMapping, map: AddressMap): string[] {
  const [, populated, promoted, wasted] = stateAt(row.states, map.bins);
  const cycles = row.walk_cycles.reduce((sum, here) => sum + here, 0);
  return [
    `${mappingName(mapping, map)} at ${address(row.start)}`,
    counted(row.blocks, "block"),
    `${grouped(cycles)} walk cycles`,
    `touched ${size(row.touched_pages * PAGE)}`,
    `populated ${size(populated * PAGE)} at the end`,
    `promoted ${size(promoted * PAGE)}, wasted ${size(wasted * PAGE)}`,
  ];
}

/** The figures of the map: the map, and one block of it. */
export function mapFigures(maps: AddressMap[]): HTMLElement[] {
  let map: AddressMap | undefined = maps[0];
  if (!map) return [];
  let all = false;
  /** The row with the focus: its mapping and its number. */
  let here: [number, number] = [0, 0];
  const block = blockFigure(maps);

  const byWalks = (): number[] => {
    const order = (map?.mappings ?? []).map((_, number) => number);
    const cycles = (number: number): number => map?.mappings[number]?.walk_cycles ?? 0;
    const touched = (number: number): number => map?.mappings[number]?.touched_pages ?? 0;
    return order.sort(
      (one, other) => cycles(other) - cycles(one) || touched(other) - touched(one),
    );
  };
  /** The mappings that are shown, by address. */
  const shown = (): number[] => {
    const some = all ? byWalks() : byWalks().slice(0, FIRST);
    return some.sort((one, other) => one - other);
  };
  const pick = (mapping: number, row: number): void => {
    here = [mapping, row];
    const found = map?.mappings[mapping];
    const part = found?.rows[row];
    if (!map || !found || !part) return;
    const next = found.rows[row + 1]?.start ?? found.end;
    const inside = (one: MapBlock): boolean =>
      one.space === found.space && one.start >= part.start && one.start < next;
    const blocks = map.blocks.filter(inside);
    const hottest = [...blocks].sort((one, other) => other.walk_cycles - one.walk_cycles)[0];
    if (hottest) block.show(map, hottest);
    else block.showNone(map, part.start);
    for (const element of made.element.querySelectorAll(".map-row")) {
      const is = element.getAttribute("data-row") === `${mapping}-${row}`;
      element.classList.toggle("is-chosen", is);
      element.setAttribute("tabindex", is ? "0" : "-1");
      element.setAttribute("aria-pressed", String(is));
    }
  };

  const draw = (width: number): Node => {
    if (!map) return h("p", {}, "");
    const { bins, mappings } = map;
    const wide = width >= 760;
    const left = wide ? Math.min(300, width * 0.24) : 0;
    const edge = wide ? 58 : 0;
    const letters = Math.floor(left / 6.6);
    const numbers = shown();
    const rows = numbers.reduce((sum, number) => sum + (mappings[number]?.rows.length ?? 0), 0);
    const height = Math.max(3, Math.min(16, Math.floor(520 / Math.max(1, rows))));
    const x = scaleLinear().domain([0, bins]).range([left + edge, width - 8]);
    const total = mappings.reduce((sum, { walk_cycles }) => sum + walk_cycles, 0);
    const most = Math.max(
      1,
      ...mappings.flatMap((one) => one.rows.flatMap((row) => row.walk_cycles)),
    );
    const shade = shadeOf(most);
    const bands: Node[] = [];
    let top = 24;
    const svg = drawing(width, 0, `Address space over time under ${map.policy}`);
    numbers.forEach((number) => {
      const mapping = mappings[number];
      if (!mapping || !map) return;
      const lines = words(mapping, map, total);
      const text = lines.map((line, place) =>
        s(
          "text",
          { x: 0, y: top + 12 + place * 17, class: place === 0 ? "band-name" : "band-words" },
          wide && line.length > letters ? `${line.slice(0, letters - 1)}…` : line,
        ),
      );
      const begin = wide ? top : top + lines.length * 17 + 4;
      const states = summed(mapping.rows.map((row) => row.states));
      const peak = Math.max(1, ...states.map(([, populated]) => populated));
      const y = scaleLinear().domain([0, peak]).range([begin + AREA, begin]);
      const heat = begin + AREA + 3;
      const strips = mapping.rows.map((row, place) => {
        const at = heat + place * height;
        const is = here[0] === number && here[1] === place;
        return s(
          "g",
          {
            class: is ? "map-row is-chosen" : "map-row",
            role: "button",
            tabindex: is ? 0 : -1,
            "aria-pressed": is,
            "aria-label": rowWords(row, mapping, map as AddressMap).join(", "),
            "data-row": `${number}-${place}`,
            "data-cycles": row.walk_cycles.reduce((sum, cycles) => sum + cycles, 0),
            "data-tip": rowWords(row, mapping, map as AddressMap).join("\n"),
            onclick: () => pick(number, place),
          },
          s("rect", {
            x: x(0),
            y: at,
            width: x(bins) - x(0),
            height: height - (height > 5 ? 1 : 0),
            class: "heat-ground",
          }),
          strip(row.walk_cycles, x, at, height - (height > 5 ? 1 : 0), shade),
          s("rect", {
            x: x(0) - 1,
            y: at - 1,
            width: x(bins) - x(0) + 2,
            height: height + 1,
            class: "row-frame",
          }),
        );
      });
      const scale = wide
        ? s(
            "text",
            {
              x: x(0) - 6,
              y: begin + 9,
              "text-anchor": "end",
              class: "band-scale",
              "aria-hidden": "true",
            },
            roundSize(peak * PAGE),
          )
        : null;
      bands.push(
        s(
          "g",
          { class: "band", "data-mapping": number },
          text,
          areas(states, bins, x, y),
          s("line", { x1: x(0), x2: x(bins), y1: begin + AREA, y2: begin + AREA, class: "base" }),
          scale,
          strips,
        ),
      );
      const ends = heat + mapping.rows.length * height;
      top = Math.max(ends, wide ? top + lines.length * 17 : ends) + 22;
    });
    const bottom = top + 4;
    const accesses = scaleLinear()
      .domain([0, bins * map.bin_accesses])
      .range(x.range());
    const at = {
      width,
      height: bottom + 42,
      left: x(0),
      right: x(bins),
      top: 0,
      bottom,
    };
    svg.setAttribute("viewBox", `0 0 ${width} ${at.height}`);
    svg.append(heatKey(x(0), 2, most), ...bands, axisX(at, accesses, "accesses", short));
    svg.addEventListener("keydown", keys);
    return svg;
  };

  /** Arrows move between rows. Enter shows the block of a row. */
  const keys = (event: KeyboardEvent): void => {
    const places = [...made.element.querySelectorAll<SVGElement>(".map-row")];
    const at = places.findIndex((row) => row === document.activeElement);
    if (at < 0) return;
    const last = places.length - 1;
    const moved = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    const go = moved === undefined ? undefined : places[moved];
    if (go) {
      event.preventDefault();
      go.focus();
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      places[at]?.dispatchEvent(new MouseEvent("click"));
    }
  };

  const rows = (): Rows => {
    const head = [
      "policy",
      "space",
      "mapping",
      "mapping_start",
      "row_start",
      "blocks",
      "bin",
      "accesses",
      "walk_cycles",
      "populated_pages",
      "promoted_pages",
      "wasted_pages",
    ];
    if (!map) return [head];
    const { policy, bins, bin_accesses } = map;
    const lines = map.mappings.flatMap((mapping) =>
      mapping.rows.flatMap((row) =>
        Array.from({ length: bins }, (_, bin) => [
          policy,
          mapping.space,
          mappingName(mapping, map as AddressMap),
          address(mapping.start),
          address(row.start),
          row.blocks,
          bin,
          bin * bin_accesses,
          row.walk_cycles[bin] ?? 0,
          ...stateAt(row.states, bin).slice(1),
        ]),
      ),
    );
    return [head, ...lines];
  };

  const key = h(
    "ul",
    { class: "key" },
    PARTS.map(({ name, style }) =>
      h("li", {}, h("span", { class: `dot ${style}`, "aria-hidden": "true" }), name),
    ),
  );
  const every = h("input", {
    type: "checkbox",
    onchange: () => {
      all = every.checked;
      made.redraw();
    },
  });
  const reset = (): void => {
    const first = byWalks()[0] ?? 0;
    const sums = (map?.mappings[first]?.rows ?? []).map((row) =>
      row.walk_cycles.reduce((sum, cycles) => sum + cycles, 0),
    );
    here = [first, Math.max(0, sums.indexOf(Math.max(0, ...sums)))];
  };
  const note = h("span", {}, "");
  const refresh = (): void => {
    note.textContent = map ? map.folded.join(" ") : "";
  };
  reset();
  const made = figure({
    name: "map",
    title: "The address space over time",
    lead: [
      "A band is a mapping: above, its resident memory; below, a row of heat for each part, ",
      "the lowest address first. Choose a row to see one of its blocks. ",
      "Arrow keys move between rows.",
    ],
    controls: [
      ...(maps.length > 1
        ? [
            choice(
              "Policy",
              maps.map(({ policy }) => ({ value: policy, text: policy })),
              map.policy,
              (policy) => {
                map = maps.find((one) => one.policy === policy) ?? map;
                reset();
                refresh();
                made.redraw();
                pick(...here);
              },
            ),
          ]
        : []),
      key,
      ...(map.mappings.length > FIRST
        ? [h("label", { class: "check" }, every, h("span", {}, `All mappings`))]
        : []),
    ],
    draw,
    rows,
    below: h("p", { class: "note" }, note),
    wide: true,
  });
  refresh();
  pick(...here);
  return [made.element, block.element];
}
