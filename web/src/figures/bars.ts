// Bars: a value of each item, in groups.

import { scaleLinear } from "d3-scale";
import { axisX, drawing, frame } from "../axes";
import { s } from "../dom";
import { figure, type FigureParts, type Rows } from "../figure";

/** A bar: its name, its parts from the left, and their details. */
export interface Bar {
  name: string;
  parts: { name: string; value: number; style: string; tip: string }[];
}

/** A figure of horizontal bars, stacked from parts. */
export function barsFigure(
  parts: Pick<FigureParts, "name" | "title" | "lead" | "note" | "wide" | "controls">,
  bars: Bar[],
  axis: string,
  text: (value: number) => string,
): HTMLElement {
  const sum = (bar: Bar): number => bar.parts.reduce((all, { value }) => all + value, 0);
  const draw = (width: number): Node => {
    const longest = Math.max(0, ...bars.map(({ name }) => name.length));
    const left = Math.min(width * 0.42, longest * 7.4 + 14);
    const letters = Math.floor((left - 14) / 7.2);
    const at = frame(width, bars.length * 26 + 62, left);
    const x = scaleLinear()
      .domain([0, Math.max(1e-9, ...bars.map(sum))])
      .range([at.left, at.right])
      .nice();
    const svg = drawing(width, at.height, parts.title);
    svg.append(axisX(at, x, axis, text));
    bars.forEach((bar, number) => {
      const top = at.top + number * 26;
      const short = bar.name.length > letters ? `${bar.name.slice(0, letters - 1)}…` : bar.name;
      let from = 0;
      svg.append(
        s("text", { x: at.left - 8, y: top + 14, "text-anchor": "end" }, short),
        ...bar.parts.map((part) => {
          const [begin, end] = [x(from), x(from + part.value)];
          from += part.value;
          return s("rect", {
            x: begin,
            y: top,
            width: Math.max(part.value > 0 ? 1 : 0, end - begin),
            height: 19,
            rx: 2,
            class: part.style,
            "data-value": part.value,
            "data-tip": `${bar.name}\n${part.tip}`,
          });
        }),
      );
    });
    return svg;
  };
  const rows = (): Rows => [
    ["name", "part", "value"],
    ...bars.flatMap((bar) => bar.parts.map((part) => [bar.name, part.name, part.value])),
  ];
  return figure({ ...parts, draw, rows }).element;
}
