// A table of records that the reader sorts.

import { h } from "../dom";
import { figure, type FigureParts, type Rows } from "../figure";

/** A column of a table: the value of a row, and its text. */
export interface TableColumn<Row> {
  name: string;
  title: string;
  value: (row: Row) => string | number | null;
  /** The text of a value that is a number. */
  text?: (value: number) => string;
  /** True for columns whose bars compare the rows. */
  bars?: boolean;
}

/** A figure that is a table. Heads sort; a bar is as long as the share of the largest value. */
export function tableFigure<Row>(
  parts: Pick<FigureParts, "name" | "title" | "lead" | "note" | "wide">,
  all: Row[],
  columns: TableColumn<Row>[],
  most = Infinity,
): HTMLElement {
  let sorted = { column: "", descending: false };
  const body = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": `Table: ${parts.title}`,
  });
  const order = (): Row[] => {
    const by = columns.find(({ name }) => name === sorted.column);
    if (!by) return all;
    const sign = sorted.descending ? -1 : 1;
    return [...all].sort((one, other) => {
      const [a, b] = [by.value(one), by.value(other)];
      if (typeof a === "number" && typeof b === "number") return sign * (a - b);
      return sign * String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
    });
  };
  const isNumber = (column: TableColumn<Row>): boolean =>
    all.some((row) => typeof column.value(row) === "number");
  const head = (column: TableColumn<Row>): HTMLElement => {
    const state =
      sorted.column !== column.name ? "none" : sorted.descending ? "descending" : "ascending";
    return h(
      "th",
      { scope: "col", "aria-sort": state, class: isNumber(column) ? "number" : undefined },
      h(
        "button",
        {
          type: "button",
          "data-sort": column.name,
          onclick: () => {
            const again = sorted.column === column.name && !sorted.descending;
            sorted = { column: column.name, descending: again };
            render();
            body.querySelector<HTMLElement>(`[data-sort="${CSS.escape(column.name)}"]`)?.focus();
          },
        },
        column.title,
        h(
          "span",
          { class: "arrow", "aria-hidden": "true" },
          { none: "", ascending: "▲", descending: "▼" }[state],
        ),
      ),
    );
  };
  const cell = (column: TableColumn<Row>, row: Row, first: boolean): HTMLElement => {
    const value = column.value(row);
    if (first) return h("th", { scope: "row" }, String(value ?? ""));
    if (typeof value !== "number") {
      const style = isNumber(column) ? "number" : undefined;
      return h("td", { class: style, "data-field": column.name }, value ?? "–");
    }
    const largest = Math.max(
      0,
      ...all.map((other) => Math.abs(Number(column.value(other) ?? 0)) || 0),
    );
    const share = column.bars && largest > 0 ? Math.abs(value) / largest : 0;
    return h(
      "td",
      {
        class: "number",
        style: `--share:${share.toFixed(4)}`,
        "data-field": column.name,
        "data-value": value,
        title: String(value),
      },
      column.text ? column.text(value) : String(value),
    );
  };
  const render = (): void => {
    body.replaceChildren(
      h(
        "table",
        { class: "matrix" },
        h("thead", {}, h("tr", {}, columns.map(head))),
        h(
          "tbody",
          {},
          order()
            .slice(0, most)
            .map((row) =>
              h(
                "tr",
                {},
                columns.map((column, place) => cell(column, row, place === 0)),
              ),
            ),
        ),
      ),
    );
  };
  render();
  const rows = (): Rows => [
    columns.map(({ name }) => name),
    ...all.map((row) => columns.map((column) => column.value(row))),
  ];
  const left = all.length > most ? `The CSV file has all ${all.length} rows.` : undefined;
  return figure({ ...parts, note: parts.note ?? left, body, rows }).element;
}
