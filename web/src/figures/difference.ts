// The difference of this result and another one, which the reader opens.

import { h } from "../dom";
import { figure, type Rows } from "../figure";
import { grouped, percent, short, words } from "../format";
import { kind, parse, type AnyRecord, type Metric } from "../records";
import { resultOf, type Figures, type Result } from "../results";

type Value = number | string | undefined;

/** The rows of the table at most. The CSV file has all rows. */
const ROWS = 120;

function change(before: Value, after: Value): string {
  if (before === after) return "same";
  if (typeof before !== "number" || typeof after !== "number") return "changed";
  if (before === 0) return `+${short(after)}`;
  const share = after / before - 1;
  return `${share > 0 ? "+" : ""}${percent(share)}`;
}

/** A value in few letters, and with all its digits. */
const text = (value: Value): string => (typeof value === "number" ? short(value) : `${value}`);
function exact(value: Value): string {
  return typeof value === "number" && Number.isInteger(value) ? grouped(value) : `${value}`;
}

/** True if a field is better if it is small, false if it is better if it is large. */
function lessIsBetter(field: string, metrics: Map<string, Metric>): boolean | null {
  const known = metrics.get(field)?.less_is_better;
  if (known !== undefined) return known;
  if (field === "run_time_ratio") return false;
  return /(user|system|elapsed)_seconds$/.test(field) ? true : null;
}

/** What two results have in common: rows and fields, and the values that both have. */
interface Common {
  names: string[];
  fields: string[];
  values: (name: string, field: string) => [before: Value, after: Value];
}

function common(one: Result, other: Result): Common {
  const values = (name: string, field: string): [Value, Value] => [
    other.rows.get(name)?.[field],
    one.rows.get(name)?.[field],
  ];
  const names = [...one.rows.keys()].filter((name) => other.rows.has(name));
  const fields = new Set<string>();
  for (const name of names) {
    const there: Figures = other.rows.get(name) ?? {};
    for (const field of Object.keys(one.rows.get(name) ?? {})) {
      if (field in there) fields.add(field);
    }
  }
  return { names, fields: [...fields], values };
}

/** Every value that both results have, for files. */
function allRows({ names, fields, values }: Common): Rows {
  const lines = names.flatMap((name) =>
    fields.flatMap((field): Rows => {
      const [before, after] = values(name, field);
      if (before === undefined || after === undefined) return [];
      const both = typeof before === "number" && typeof after === "number";
      return [[name, field, before, after, both ? after - before : null]];
    }),
  );
  return [["name", "field", "other", "this", "change"], ...lines];
}

function cell(common: Common, metrics: Map<string, Metric>, name: string, field: string) {
  const [before, after] = common.values(name, field);
  if (before === undefined || after === undefined) return h("td", { class: "number" }, "–");
  const less = lessIsBetter(field, metrics);
  const known = less !== null && before !== after;
  const verdict = known ? (after < before === less ? " is-better" : " is-worse") : "";
  return h(
    "td",
    {
      class: `number change${verdict}`,
      "data-field": field,
      "data-before": before,
      "data-after": after,
      title: `${exact(before)} to ${exact(after)}`,
    },
    h("span", { class: "values" }, `${text(before)} → ${text(after)}`),
    h("strong", {}, change(before, after)),
  );
}

/** The table of differences. Of many rows, those that changed are first. */
function table(all: Common, shown: string[], metrics: Map<string, Metric>): HTMLElement {
  const same = (name: string): boolean =>
    all.fields.every((field) => {
      const [before, after] = all.values(name, field);
      return before === after;
    });
  const names =
    all.names.length > ROWS
      ? [...all.names.filter((name) => !same(name)), ...all.names.filter(same)].slice(0, ROWS)
      : all.names;
  const heads = shown.map((field) => h("th", { scope: "col", class: "number" }, words(field)));
  const row = (name: string): HTMLElement =>
    h(
      "tr",
      {},
      h("th", { scope: "row", class: "long" }, name),
      shown.map((field) => cell(all, metrics, name, field)),
    );
  return h(
    "table",
    { class: "matrix" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "result"), heads)),
    h("tbody", {}, names.map(row)),
  );
}

/** The figure: a button that opens another result, and the difference to it. */
export function differenceFigure(record: AnyRecord, known: Metric[]): HTMLElement | null {
  const own = resultOf(record, "this result");
  if (!own || own.rows.size === 0) return null;
  const metrics = new Map(known.map((metric) => [metric.name, metric]));
  let shared: Common | null = null;
  let from = "";
  const body = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Differences",
    hidden: true,
  });
  const said = h("p", { class: "note", role: "status" });
  const every = h("input", { type: "checkbox", onchange: () => render() });
  const whole = h(
    "label",
    { class: "check", hidden: true },
    every,
    h("span", {}, "All figures"),
  );
  const render = (): void => {
    const names = shared?.names ?? [];
    const fields = shared?.fields ?? [];
    const first = own.first.filter((field) => fields.includes(field));
    const rest = fields.filter((field) => !first.includes(field));
    const isLong = first.length === 0;
    body.hidden = names.length === 0;
    whole.hidden = body.hidden || isLong || rest.length === 0;
    made.offer(!body.hidden);
    // Without another result, paper has no place for the figure.
    made.element.classList.toggle("screen-only", body.hidden);
    if (!shared) return;
    body.replaceChildren(table(shared, every.checked || isLong ? fields : first, metrics));
    const left =
      names.length > ROWS ? ` The CSV file has all ${grouped(names.length)} rows.` : "";
    said.textContent =
      names.length === 0
        ? `${from} has no result with a name of this page.`
        : `From ${from} to this page. Results that only one of them has are left out.${left}`;
  };
  const input = h("input", {
    type: "file",
    accept: ".html,.json",
    onchange: async () => {
      const file = input.files?.[0];
      if (!file) return;
      try {
        const records = parse(await file.text());
        const found = records.find((one) => kind(one) === kind(record));
        const other = found && resultOf(found, file.name);
        if (!other) throw new Error(`it has no result of ${kind(record)}`);
        shared = common(own, other);
        from = other.name;
        render();
      } catch (error) {
        shared = null;
        render();
        said.textContent = `${file.name} cannot be compared: ${(error as Error).message}`;
      }
    },
  });
  const made = figure({
    name: "difference",
    title: "The difference to another result",
    lead: [
      "Open another page of Broadleaf, or the JSON of a result. ",
      "Nothing leaves this computer.",
    ],
    controls: [h("label", { class: "choice" }, h("span", {}, "Another result"), input), whole],
    body,
    below: said,
    rows: () => allRows(shared ?? { names: [], fields: [], values: () => [undefined, undefined] }),
    wide: true,
  });
  render();
  return made.element;
}
