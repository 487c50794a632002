// Axes and grids of charts.

import { s } from "./dom";

interface Scale {
  (value: number): number;
  ticks(count?: number): number[];
}

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The frame of a chart, with room for labels. */
export function frame(width: number, height: number, left = 56): Frame {
  return { width, height, left, right: width - 16, top: 18, bottom: height - 44 };
}

/** An empty drawing. `label` says what it shows, for readers who do not see it. */
export function drawing(width: number, height: number, label: string): SVGSVGElement {
  return s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width: "100%",
    role: "group",
    "aria-label": label,
    class: "chart",
  });
}

/** The horizontal axis: ticks, and the name below. */
export function axisX(
  at: Frame,
  scale: Scale,
  name: string,
  text: (value: number) => string,
  ticks: number[] = scale.ticks(Math.max(2, Math.floor((at.right - at.left) / 90))),
): SVGGElement {
  let last = -Infinity;
  ticks = ticks.filter((tick) => scale(tick) >= at.left - 1 && scale(tick) <= at.right + 1);
  const shown = ticks.filter((tick) => {
    const here = scale(tick);
    const fits = here - last > 7 * text(tick).length + 8;
    if (fits) last = here;
    return fits;
  });
  return s(
    "g",
    { class: "axis", "aria-hidden": "true" },
    s("line", { x1: at.left, x2: at.right, y1: at.bottom, y2: at.bottom, class: "base" }),
    shown.map((tick) => [
      s("line", {
        x1: scale(tick),
        x2: scale(tick),
        y1: at.bottom,
        y2: at.bottom + 4,
        class: "base",
      }),
      s("text", { x: scale(tick), y: at.bottom + 17, "text-anchor": "middle" }, text(tick)),
    ]),
    s(
      "text",
      { x: (at.left + at.right) / 2, y: at.height - 6, "text-anchor": "middle", class: "name" },
      name,
    ),
  );
}

/** The vertical axis: lines of a grid, and the name above. */
export function axisY(
  at: Frame,
  scale: Scale,
  name: string,
  text: (value: number) => string,
  ticks: number[] = scale.ticks(5),
): SVGGElement {
  return s(
    "g",
    { class: "axis", "aria-hidden": "true" },
    ticks.map((tick) => [
      s("line", { x1: at.left, x2: at.right, y1: scale(tick), y2: scale(tick), class: "grid" }),
      s("text", { x: at.left - 8, y: scale(tick) + 4, "text-anchor": "end" }, text(tick)),
    ]),
    s("text", { x: 0, y: 10, class: "name" }, name),
  );
}
