// The frame of a figure: its title, what it says, its controls, and its data as SVG, CSV and table.

import { h, unique } from "./dom";
import { save, svgText } from "./download";

/** Rows of data: the first row has the names of the columns. */
export type Rows = (string | number | null)[][];

export interface FigureParts {
  /** A short name, for files and links. */
  name: string;
  title: string;
  /** One or two sentences: what the reader sees, and how to read it. */
  lead?: (string | Node)[];
  /** Controls that change what the figure shows. */
  controls?: Node[];
  /** Draws the figure at a width. */
  draw?: (width: number) => Node;
  /** Content that is no drawing, such as a table. */
  body?: Node;
  /** The text of an SVG file of the content, if it is no drawing. */
  drawn?: () => string;
  /** The data of what is shown now. */
  rows: () => Rows;
  /** More below the drawing. */
  below?: Node;
  /** A note below, such as a limit of the figures. */
  note?: string;
  /** Takes the whole width of the page. */
  wide?: boolean;
}

/** The rows as CSV, by RFC 4180. */
export function csv(rows: Rows): string {
  const cell = (value: string | number | null): string => {
    const text = value === null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

/** The most rows that a table of the page has. CSV has them all. */
const ROWS = 400;

function table(rows: Rows, label: string): HTMLElement {
  const [head = [], ...body] = rows;
  const shown = body.slice(0, ROWS);
  const number = (value: unknown): string | undefined =>
    typeof value === "number" ? "number" : undefined;
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h(
      "table",
      { class: "data" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        shown.map((row) =>
          h(
            "tr",
            {},
            row.map((value) => h("td", { class: number(value) }, value ?? "")),
          ),
        ),
      ),
    ),
    body.length > ROWS && h("p", { class: "note" }, `The CSV file has all ${body.length} rows.`),
  );
}

/** A figure of the page, and a function that draws it again. */
export function figure(parts: FigureParts): { element: HTMLElement; redraw: () => void } {
  const heading = unique("heading");
  const canvas = h("div", { class: "canvas" });
  const data = h("details", { class: "numbers" }, h("summary", {}, "Show the numbers"));
  let width = 0;
  const redraw = (): void => {
    if (parts.draw && width > 0) canvas.replaceChildren(parts.draw(width));
    if (data.open) fillTable();
  };
  const fillTable = (): void => {
    data.lastElementChild?.tagName === "DIV" && data.lastElementChild.remove();
    data.append(table(parts.rows(), `The numbers of: ${parts.title}`));
  };
  data.addEventListener("toggle", () => data.open && fillTable());
  const buttons = h(
    "div",
    { class: "exports" },
    (parts.draw || parts.drawn) &&
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "data-export": "svg",
          onclick: () => {
            if (parts.drawn) save(`${parts.name}.svg`, "image/svg+xml", parts.drawn());
            const drawing = canvas.querySelector("svg");
            if (drawing) save(`${parts.name}.svg`, "image/svg+xml", svgText(drawing, parts.title));
          },
          "aria-label": `Save as SVG: ${parts.title}`,
        },
        "SVG",
      ),
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-export": "csv",
        onclick: () => save(`${parts.name}.csv`, "text/csv", csv(parts.rows())),
        "aria-label": `Save as CSV: ${parts.title}`,
      },
      "CSV",
    ),
  );
  const element = h(
    "section",
    { class: parts.wide ? "figure wide" : "figure", id: parts.name, "aria-labelledby": heading },
    h("header", {}, h("h2", { id: heading }, parts.title), buttons),
    parts.lead && h("p", { class: "lead" }, parts.lead),
    parts.controls && parts.controls.length > 0 && h("div", { class: "controls" }, parts.controls),
    parts.draw ? canvas : parts.body,
    parts.below,
    parts.note && h("p", { class: "note" }, parts.note),
    parts.draw && data,
  );
  if (parts.draw) {
    new ResizeObserver(() => {
      const now = Math.floor(canvas.clientWidth);
      if (now > 0 && now !== width) {
        width = now;
        redraw();
      }
    }).observe(canvas);
  }
  return { element, redraw };
}
