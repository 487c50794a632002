// One block: its resident pages and walks over time, and the policy's decisions about it.

import { scaleLinear } from "d3-scale";
import { axisX, axisY, drawing } from "../axes";
import { choice, h, s } from "../dom";
import { figure, type Rows } from "../figure";
import { counted, grouped, roundSize, short, words } from "../format";
import type { AddressMap, MapBlock, MapDecision } from "../records";
import { address, areas, mappingName, PAGE, PARTS, shadeOf, strip } from "../spacetime";

/** A decision in words. */
function sentence(decision: MapDecision, map: AddressMap): string {
  const { count, populated, piece_bytes } = decision;
  const pages = piece_bytes / PAGE;
  const [first, last] = populated;
  const from = first === last ? grouped(first) : `${grouped(first)} to ${grouped(last)}`;
  const state = `${from} of ${counted(pages, "page")} populated`;
  const piece = piece_bytes === map.block_bytes ? "" : `a piece of ${roundSize(piece_bytes)} `;
  const times = count === 1 ? "" : ` ${grouped(count)} times`;
  if (decision.decision === "promoted") return `${piece}promoted${times}: ${state} before`;
  if (decision.decision === "demoted") return `${piece}demoted${times}`;
  return `${piece}kept as it was${times}, reason ${words(decision.decision)}: ${state}`;
}

function when({ time, until }: MapDecision): string {
  return time === until ? `after ${grouped(time)}` : `after ${grouped(time)} to ${grouped(until)}`;
}

/** The class of a decision's mark. */
function style({ decision }: MapDecision): string {
  return decision === "promoted" || decision === "demoted" ? decision : "refused";
}

/** The figure of a block, and a function that shows another block. */
export function blockFigure(maps: AddressMap[]): {
  element: HTMLElement;
  show: (map: AddressMap, block: MapBlock) => void;
  /** Says that no block of the row that begins at an address has a history. */
  showNone: (map: AddressMap, start: number) => void;
} {
  let map: AddressMap | undefined = maps[0];
  let block: MapBlock | undefined = map?.blocks[0];
  const list = h("ol", { class: "history" });
  const title = h("p", { class: "block-name", "aria-live": "polite" });
  const place = h("div", { class: "block-choice" });

  const draw = (width: number): Node => {
    if (!map || !block) return h("p", {}, "There is no history here.");
    const { bins, bin_accesses } = map;
    const pages = map.block_bytes / PAGE;
    const left = 62;
    const x = scaleLinear().domain([0, bins]).range([left, width - 12]);
    const lanes = [...new Set(block.history.map(({ decision }) => decision))];
    const areaBottom = 176;
    const heat = areaBottom + 5;
    const first = heat + 24;
    const bottom = first + lanes.length * 22 + 4;
    const at = { width, height: bottom + 44, left, right: width - 12, top: 24, bottom };
    const y = scaleLinear().domain([0, pages]).range([areaBottom, 24]);
    const most = Math.max(1, ...block.walk_cycles_over_time);
    const svg = drawing(width, at.height, `The block at ${address(block.start)} over time`);
    const moment = (time: number): number => x(Math.min(bins, time / bin_accesses));
    svg.append(
      axisY({ ...at, bottom: areaBottom }, y, "resident pages", (value) => grouped(value), [
        0,
        pages / 4,
        pages / 2,
        (pages * 3) / 4,
        pages,
      ]),
      areas(block.states, bins, x, y),
      s("rect", { x: x(0), y: heat, width: x(bins) - x(0), height: 12, class: "heat-ground" }),
      ...strip(block.walk_cycles_over_time, x, heat, 12, shadeOf(most)),
      s("text", { x: left - 8, y: heat + 10, "text-anchor": "end", class: "lane-name" }, "walks"),
    );
    lanes.forEach((lane, number) => {
      const middle = first + number * 22 + 9;
      const here = block?.history.filter(({ decision }) => decision === lane) ?? [];
      svg.append(
        s("line", { x1: x(0), x2: x(bins), y1: middle, y2: middle, class: "lane" }),
        ...here.map((one) => {
          const [from, to] = [moment(one.time), moment(one.until)];
          return s("rect", {
            x: from - 3,
            y: middle - 6,
            width: Math.max(6, to - from + 6),
            height: 12,
            rx: 3,
            class: `decision ${style(one)}`,
            "data-tip": `${sentence(one, map as AddressMap)}\n${when(one)} accesses`,
          });
        }),
        s("text", { x: x(0) + 6, y: middle + 4, class: "lane-words" }, words(lane)),
      );
    });
    const accesses = scaleLinear()
      .domain([0, bins * bin_accesses])
      .range(x.range());
    svg.append(axisX(at, accesses, "accesses", short));
    return svg;
  };

  const rows = (): Rows => [
    [
      "policy",
      "block",
      "time",
      "until",
      "decision",
      "piece_bytes",
      "count",
      "populated_first",
      "populated_last",
    ],
    ...(block?.history ?? []).map((one) => [
      map?.policy ?? "",
      address(block?.start ?? 0),
      one.time,
      one.until,
      one.decision,
      one.piece_bytes,
      one.count,
      ...one.populated,
    ]),
  ];

  const refresh = (): void => {
    if (!map || !block) return;
    const mapping = map.mappings[block.mapping];
    const name = mapping ? mappingName(mapping, map) : "memory";
    const first =
      block.first_reference === null
        ? "never referenced"
        : `first referenced after ${grouped(block.first_reference)} accesses`;
    title.textContent =
      `${address(block.start)} in ${name}, under ${map.policy}: ${first}, ` +
      `${counted(block.touched_pages, "page")} touched, ${grouped(block.walks)} walks.`;
    const left = block.history_left_out;
    list.replaceChildren(
      ...block.history.map((one) =>
        h(
          "li",
          { class: style(one), "data-count": one.count, "data-decision": one.decision },
          h("span", { class: "when" }, `${when(one)} accesses`),
          h("span", {}, sentence(one, map as AddressMap)),
        ),
      ),
      ...(left > 0 ? [h("li", { class: "refused" }, `${grouped(left)} further decisions`)] : []),
      ...(block.history.length === 0
        ? [h("li", { class: "refused" }, "The policy was not asked about this block.")]
        : []),
    );
    const groups = map.blocks.map((one) => {
      const of = map?.mappings[one.mapping];
      const group = map && of ? `${mappingName(of, map)} at ${address(of.start)}` : "memory";
      const text = `${address(one.start)}: ${short(one.walk_cycles)} walk cycles`;
      return { value: `${one.space}-${one.start}`, text, group };
    });
    place.replaceChildren(
      choice("Block", groups, `${block.space}-${block.start}`, (value) => {
        block = map?.blocks.find((one) => `${one.space}-${one.start}` === value) ?? block;
        refresh();
        place.querySelector("select")?.focus();
      }),
    );
    made.redraw();
  };
  const made = figure({
    name: "block",
    title: "One block, and what the policy decided about it",
    lead: [
      "A block is an aligned region of the size of a huge page. ",
      "The map chooses it, or you do.",
    ],
    controls: [
      place,
      h(
        "ul",
        { class: "key" },
        PARTS.map((part) =>
          h("li", {}, h("span", { class: `dot ${part.style}`, "aria-hidden": "true" }), part.name),
        ),
      ),
      title,
    ],
    draw,
    rows,
    below: list,
    wide: true,
  });
  refresh();
  return {
    element: made.element,
    show: (next, chosen) => {
      map = next;
      block = chosen;
      refresh();
    },
    showNone: (next, start) => {
      map = next;
      block = undefined;
      title.textContent =
        `No block of the row at ${address(start)} has a history: ` +
        `those with most walks and decisions have one.`;
      list.replaceChildren();
      made.redraw();
    },
  };
}
