// Walk cycles by mapping, range and allocation site: each part is as wide as its share.

import { hierarchy, partition, type HierarchyRectangularNode } from "d3-hierarchy";
import { drawing } from "../axes";
import { choice, s } from "../dom";
import { figure, type Rows } from "../figure";
import { grouped, percent, short } from "../format";
import type { AddressMap, WalkNode } from "../records";

/** The height of a level. */
const LEVEL = 44;

type Part = HierarchyRectangularNode<WalkNode>;

function tree(root: WalkNode): Part {
  const nodes = hierarchy(root, (node) => node.parts ?? []);
  // A part's value is its own: parts that the record adds up are parts too.
  nodes.each((node) => {
    (node as { value?: number }).value = node.data.walk_cycles;
  });
  return partition<WalkNode>()(nodes as HierarchyRectangularNode<WalkNode>);
}

/** The text that fits into a width: all of it, its beginning, or nothing. */
function fitting(text: string, width: number): string {
  const letters = Math.floor((width - 12) / 7.2);
  if (letters >= text.length) return text;
  return letters < 4 ? "" : `${text.slice(0, letters - 1)}…`;
}

/** The names of a part and of those around it. */
function path(node: Part): string[] {
  return node
    .ancestors()
    .reverse()
    .map(({ data }) => data.name);
}

export function icicleFigure(maps: AddressMap[]): HTMLElement | null {
  const some = maps.filter((map) => map.walk_tree.walk_cycles > 0);
  // Where walks are matters most where there are most of them.
  const first = [...some].sort(
    (one, other) => other.walk_tree.walk_cycles - one.walk_tree.walk_cycles,
  )[0];
  if (!first) return null;
  let map = first;
  let root = tree(map.walk_tree);
  let focus = root;

  const zoom = (to: Part): void => {
    focus = to === focus ? (to.parent ?? root) : to;
    made.redraw();
    made.element.querySelector<SVGElement>('.part[data-focus="true"]')?.focus();
  };

  const draw = (width: number): Node => {
    const span = Math.max(1e-9, focus.x1 - focus.x0);
    const x = (value: number): number => ((value - focus.x0) / span) * width;
    const shown = root
      .descendants()
      .filter((node) => node.x1 > focus.x0 + 1e-9 && node.x0 < focus.x1 - 1e-9)
      .filter((node) => (node.x1 - node.x0) / span > 0.0015);
    const levels = Math.max(...shown.map(({ depth }) => depth)) + 1;
    const svg = drawing(width, levels * LEVEL, `Walk cycles under ${map.policy}, by mapping`);
    const series = (node: Part): number => {
      const [, top] = node.ancestors().reverse();
      const place = top ? (root.children ?? []).indexOf(top) : -1;
      return place < 0 ? 5 : (place % 8) + 1;
    };
    for (const node of shown) {
      const [from, to] = [Math.max(0, x(node.x0)), Math.min(width, x(node.x1))];
      const share = node.data.walk_cycles / Math.max(1, root.data.walk_cycles);
      const names = path(node);
      const text = `${grouped(node.data.walk_cycles)} walk cycles, ${percent(share)} of all`;
      const box = Math.max(1, to - from - 2);
      svg.append(
        s(
          "g",
          {
            class: `part depth-${Math.min(3, node.depth)}`,
            role: "button",
            tabindex: node === focus || node.depth === focus.depth + 1 ? 0 : -1,
            "data-focus": node === focus,
            "data-cycles": node.data.walk_cycles,
            "data-kind": node.data.kind,
            "aria-label": `${names.join(", ")}: ${text}`,
            "data-tip": `${node.data.name}\n${names.slice(0, -1).join(", ")}\n${text}`,
            onclick: () => zoom(node),
            onkeydown: (event: KeyboardEvent) => {
              if (event.key !== "Enter" && event.key !== " ") return;
              event.preventDefault();
              zoom(node);
            },
          },
          s("rect", {
            x: from,
            y: node.depth * LEVEL,
            width: box,
            height: LEVEL - 2,
            rx: 4,
            style: `fill:var(--series-${series(node)})`,
          }),
        ),
        // Beside the button, whose name is longer than what fits.
        s(
          "g",
          { class: "part-words", "aria-hidden": "true" },
          s(
            "text",
            { x: from + 7, y: node.depth * LEVEL + 18, class: "part-name" },
            fitting(node.data.name, box),
          ),
          s(
            "text",
            { x: from + 7, y: node.depth * LEVEL + 34, class: "part-share" },
            fitting(`${percent(share)} · ${short(node.data.walk_cycles)}`, box),
          ),
        ),
      );
    }
    return svg;
  };
  const rows = (): Rows => [
    ["policy", "depth", "kind", "name", "within", "walk_cycles"],
    ...root
      .descendants()
      .map((node) => [
        map.policy,
        node.depth,
        node.data.kind,
        node.data.name,
        path(node).slice(0, -1).join(" / "),
        node.data.walk_cycles,
      ]),
  ];
  const hasSites = (node: WalkNode): boolean =>
    node.kind === "site" || (node.parts ?? []).some(hasSites);
  const made = figure({
    name: "icicle",
    title: "Where the walks are",
    lead: [
      "Each part is as wide as its share of the walk cycles: the program, its mappings, ranges of ",
      "them, and allocation sites. Choose a part to see it larger; choose it again to go back.",
    ],
    controls:
      some.length > 1
        ? [
            choice(
              "Policy",
              some.map(({ policy }) => ({ value: policy, text: policy })),
              map.policy,
              (policy) => {
                map = some.find((one) => one.policy === policy) ?? map;
                root = tree(map.walk_tree);
                focus = root;
                made.redraw();
              },
            ),
          ]
        : [],
    draw,
    rows,
    note: hasSites(map.walk_tree)
      ? "A page's walks are divided among the sites of its memory, by their bytes in the page."
      : "The recording has no allocation sites. Record with --sites to see lines of the source.",
    wide: true,
  });
  return made.element;
}
