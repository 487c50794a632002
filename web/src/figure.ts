// The frame of a figure: its title, what it says, its controls, and its data as SVG, CSV and table.

import { h, unique } from "./dom";
import { save, svgText } from "./download";
import { tableSvg } from "./figures/tablesvg";
import { origin } from "./origin";
import { onPaper, PAPER_WIDTH } from "./print";

/** The least width of a drawing. During layout, its place may be narrower than its margins. */
const LEAST_WIDTH = 240;

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
  body?: Element;
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

/** The rows with the columns of the origin, but for those that they have. */
function withOrigin(rows: Rows, columns: [string, string][]): Rows {
  const [head = [], ...body] = rows;
  const more = columns.filter(([name]) => !head.includes(name));
  return [
    [...head, ...more.map(([name]) => name)],
    ...body.map((row) => [...row, ...more.map(([, value]) => value)]),
  ];
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

export interface Figure {
  element: HTMLElement;
  /** Draws the figure again. */
  redraw: () => void;
  /** Offers the files of the figure, or not while it has no data. */
  offer: (hasData: boolean) => void;
}

/** A figure of the page, as SVG and CSV too. */
export function figure(parts: FigureParts): Figure {
  const heading = unique("heading");
  const from = origin();
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
  const svg = (): string => {
    const drawing = canvas.querySelector("svg");
    const source = from.map(([name, value]) => `${name} ${value}`).join(", ");
    if (drawing) return svgText(drawing, [parts.title, source], element);
    return tableSvg([parts.title, source], parts.body?.querySelector("table") ?? parts.rows());
  };
  const button = (type: "svg" | "csv", media: string, text: () => string): HTMLButtonElement =>
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-export": type,
        onclick: () => save(`${parts.name}.${type}`, media, text()),
        "aria-label": `Save as ${type.toUpperCase()}: ${parts.title}`,
      },
      type.toUpperCase(),
    );
  const files = [
    button("svg", "image/svg+xml", svg),
    button("csv", "text/csv", () => csv(withOrigin(parts.rows(), from))),
  ];
  const element = h(
    "section",
    { class: parts.wide ? "figure wide" : "figure", id: parts.name, "aria-labelledby": heading },
    h(
      "header",
      {},
      h("h2", { id: heading }, parts.title),
      h("div", { class: "exports" }, files),
    ),
    parts.lead && h("p", { class: "lead" }, parts.lead),
    parts.controls && parts.controls.length > 0 && h("div", { class: "controls" }, parts.controls),
    parts.draw ? canvas : parts.body,
    parts.below,
    parts.note && h("p", { class: "note" }, parts.note),
    parts.draw && data,
  );
  if (parts.draw) {
    const resized = new ResizeObserver(() => {
      if (!canvas.isConnected) {
        // The figure of a trace that is shown no more stays as it is.
        resized.disconnect();
        forget();
        return;
      }
      const now = Math.max(Math.floor(canvas.clientWidth), LEAST_WIDTH);
      if (canvas.clientWidth > 0 && now !== width) {
        width = now;
        redraw();
      }
    });
    resized.observe(canvas);
    const drawAt = (at: number): void => {
      if (parts.draw && width > 0 && canvas.isConnected) canvas.replaceChildren(parts.draw(at));
    };
    const forget = onPaper(
      () => drawAt(PAPER_WIDTH),
      () => drawAt(width),
    );
  }
  const offer = (hasData: boolean): void => {
    for (const file of files) file.disabled = !hasData;
  };
  return { element, redraw, offer };
}
