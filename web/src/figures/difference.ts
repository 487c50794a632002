// The difference of this result and another one, which the reader opens.

import { h } from "../dom";
import { csv, type Rows } from "../figure";
import { save } from "../download";
import { grouped, percent, short, words } from "../format";
import { kind, parse, type AnyRecord, type Cell, type Metric } from "../records";

/** A result that is compared: its rows by name, each with numbers. */
interface Result {
  name: string;
  rows: Map<string, Record<string, number>>;
}

/** The numbers of an object. */
function numbers(value: object): Record<string, number> {
  const fields = Object.entries(value).filter(([, field]) => typeof field === "number");
  return Object.fromEntries(fields) as Record<string, number>;
}

/** The rows of a record that can be compared; `null` if there are none. */
function result(record: AnyRecord, name: string): Result | null {
  const rows = new Map<string, Record<string, number>>();
  const add = (key: string, value: object): void => void rows.set(key, numbers(value));
  if (kind(record) === "compare" || kind(record) === "advice") {
    const cells = (record["results"] ?? []) as Cell[];
    for (const cell of cells) add(`${cell.policy} on ${cell.machine}`, cell);
  } else if (kind(record) === "replay") {
    const policies = (record["policies"] ?? []) as { policy: string; max_added: string }[];
    for (const row of policies) add(`${row.policy} within ${row.max_added}`, row);
  } else if (kind(record) === "report") {
    const processes = (record["processes"] ?? []) as { command: string }[];
    for (const process of processes) add(process.command, process);
    if (record["policy"] !== undefined) add(String(record["policy"]), record);
  } else return null;
  const trace = record["trace"] as { path?: string } | undefined;
  return { name: trace?.path ? `${name} (${trace.path})` : name, rows };
}

/** Fields that are shown first. */
const FIRST = [
  "walk_cycles",
  "l2_misses",
  "page_faults",
  "promotions",
  "demotions",
  "peak_resident_pages",
  "huge_bytes_peak",
  "added_bytes_peak",
];

function change(before: number, after: number): string {
  if (before === after) return "same";
  if (before === 0) return `+${short(after)}`;
  const share = after / before - 1;
  return `${share > 0 ? "+" : ""}${percent(share)}`;
}

/** The table of differences. Rows and fields are those that both results have. */
function table(one: Result, other: Result, all: boolean, metrics: Map<string, Metric>) {
  const names = [...one.rows.keys()].filter((name) => other.rows.has(name));
  const fields = new Set<string>();
  for (const name of names) {
    const there = other.rows.get(name) ?? {};
    for (const field of Object.keys(one.rows.get(name) ?? {})) {
      if (field in there) fields.add(field);
    }
  }
  const first = FIRST.filter((field) => fields.has(field));
  const shown = all ? [...first, ...[...fields].filter((field) => !first.includes(field))] : first;
  const rows: Rows = [
    ["name", "field", "other", "this", "change"],
    ...names.flatMap((name) =>
      [...fields].map((field) => {
        const before = other.rows.get(name)?.[field] ?? 0;
        const after = one.rows.get(name)?.[field] ?? 0;
        return [name, field, before, after, after - before];
      }),
    ),
  ];
  const cell = (name: string, field: string): HTMLElement => {
    const before = other.rows.get(name)?.[field] ?? 0;
    const after = one.rows.get(name)?.[field] ?? 0;
    const less = metrics.get(field)?.less_is_better ?? null;
    const better = less === null || before === after ? null : after < before === less;
    return h(
      "td",
      {
        class: `number change${better === null ? "" : better ? " is-better" : " is-worse"}`,
        "data-field": field,
        "data-before": before,
        "data-after": after,
        title: `${grouped(before)} to ${grouped(after)}`,
      },
      h("span", { class: "values" }, `${short(before)} → ${short(after)}`),
      h("strong", {}, change(before, after)),
    );
  };
  const element = h(
    "table",
    { class: "matrix" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "result"),
        shown.map((field) => h("th", { scope: "col", class: "number" }, words(field))),
      ),
    ),
    h(
      "tbody",
      {},
      names.map((name) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, h("code", {}, name)),
          shown.map((field) => cell(name, field)),
        ),
      ),
    ),
  );
  return { element, rows, names };
}

/** The figure: a button that opens another result, and the difference to it. */
export function differenceFigure(record: AnyRecord, known: Metric[]): HTMLElement | null {
  const own = result(record, "this result");
  if (!own) return null;
  const metrics = new Map(known.map((metric) => [metric.name, metric]));
  let other: Result | null = null;
  let rows: Rows = [];
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
  const exported = h(
    "button",
    {
      type: "button",
      class: "quiet",
      "data-export": "csv",
      "aria-label": "Save as CSV: The difference to another result",
      onclick: () => save("difference.csv", "text/csv", csv(rows)),
    },
    "CSV",
  );
  const render = (): void => {
    if (!other) return;
    const made = table(own, other, every.checked, metrics);
    rows = made.rows;
    body.hidden = made.names.length === 0;
    whole.hidden = body.hidden;
    body.replaceChildren(made.element);
    said.textContent =
      made.names.length === 0
        ? `${other.name} has no result with a name of this page.`
        : `From ${other.name} to this page. Results that only one of them has are left out.`;
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
        const made = found && result(found, file.name);
        if (!made) throw new Error(`it has no result of ${kind(record)}`);
        other = made;
        render();
      } catch (error) {
        other = null;
        body.hidden = true;
        whole.hidden = true;
        said.textContent = `${file.name} cannot be compared: ${(error as Error).message}`;
      }
    },
  });
  return h(
    "section",
    { class: "figure wide screen-only", id: "difference", "aria-labelledby": "difference-heading" },
    h(
      "header",
      {},
      h("h2", { id: "difference-heading" }, "The difference to another result"),
      exported,
    ),
    h(
      "p",
      { class: "lead" },
      "Open another page of Broadleaf, or the JSON of a result. Nothing leaves this computer.",
    ),
    h(
      "div",
      { class: "controls" },
      h("label", { class: "choice" }, h("span", {}, "Another result"), input),
      whole,
    ),
    body,
    said,
  );
}
