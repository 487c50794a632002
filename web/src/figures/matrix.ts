// The results as a table that the reader sorts: all figures on one machine, or one on all.

import { choice, h } from "../dom";
import { figure, type Rows } from "../figure";
import { grouped, percent, short, size, words } from "../format";
import { addedBytes, BASELINE, distinct, onMachine, saved } from "../gain";
import type { Cell, Metric } from "../records";
import { colour } from "../state";

/** A column: a value of a result, and its text. */
interface Column {
  name: string;
  title: string;
  help: string;
  /** A field of the record, or a difference of two. */
  value: (cell: Cell, baseline: Cell | undefined) => number | null;
  text: (value: number) => string;
  /** Values are better if they are small (-1) or large (1); 0 if neither. */
  better: -1 | 0 | 1;
}

/** Fields of the first table, in its order. */
const FIRST = [
  "walk_cycles",
  "saved",
  "l2_misses",
  "page_faults",
  "peak",
  "added",
  "promotions",
  "demotions",
];

function columns(cells: Cell[], metrics: Map<string, Metric>): Column[] {
  const fields = new Set<string>();
  for (const cell of cells) {
    for (const [name, value] of Object.entries(cell)) {
      if (typeof value === "number" && name !== "accesses" && name !== "base_page_bytes")
        fields.add(name);
    }
  }
  const counted = [...fields].map((name): Column => {
    const metric = metrics.get(name);
    const unit = metric?.unit ?? "";
    const whole = cells.every((cell) => Number.isInteger(cell[name] ?? 0));
    const text = unit === "bytes" ? size : whole ? short : (value: number) => value.toPrecision(3);
    return {
      name,
      title: words(name),
      help: metric?.sentence ?? "",
      value: (cell) => (typeof cell[name] === "number" ? (cell[name] as number) : null),
      text,
      better: metric?.less_is_better === true ? -1 : metric?.less_is_better === false ? 1 : 0,
    };
  });
  const derived: Column[] = [
    {
      name: "saved",
      title: "saved",
      help: "The share of the cycles of 4k that the policy saves.",
      value: (cell, baseline) => (baseline && !hasEnded(cell) ? saved(cell, baseline) : null),
      text: percent,
      better: 1,
    },
    {
      name: "peak",
      title: "peak memory",
      help: "The peak of resident memory.",
      value: (cell) => cell.peak_resident_pages * (cell.base_page_bytes ?? 4096),
      text: size,
      better: -1,
    },
    {
      name: "added",
      title: "added memory",
      help: "The peak of resident memory less that of 4k.",
      value: (cell, baseline) => (baseline ? addedBytes(cell, baseline) : null),
      text: size,
      better: -1,
    },
  ];
  const all = [...derived, ...counted];
  const first = FIRST.flatMap((name) => all.find((column) => column.name === name) ?? []);
  return [
    ...first,
    ...all.filter((column) => !first.includes(column) && column.name !== "peak_resident_pages"),
  ];
}

/** True if memory was used up before the end of the trace: counts are of a part of it alone. */
function hasEnded(cell: Cell): boolean {
  return cell.out_of_memory_after !== undefined;
}

/** What a policy does: `pop-64` and `pop(64)` have the summary of `pop`. */
function summary(policy: string, summaries: Map<string, string>): string | undefined {
  return summaries.get(policy) ?? summaries.get(policy.replace(/[-(].*/, ""));
}

/** The length of a value's bar: its share of the largest value. */
function share(value: number | null, values: (number | null)[]): number {
  const most = Math.max(0, ...values.map((other) => Math.abs(other ?? 0)));
  return most > 0 && value !== null ? Math.abs(value) / most : 0;
}

export function matrixFigure(
  cells: Cell[],
  baselines: Cell[],
  advised: Map<string, string>,
  known: Metric[],
  summaries: Map<string, string>,
): HTMLElement {
  const metrics = new Map(known.map((metric) => [metric.name, metric]));
  const all = columns(cells, metrics);
  const machines = distinct(cells, "machine");
  const baseline = (machine: string) => baselines.find((cell) => cell.machine === machine);
  // "m:NAME" is all figures on a machine, "f:NAME" one figure on all machines.
  let shown = machines.length > 1 ? "f:walk_cycles" : `m:${machines[0] ?? ""}`;
  let more = false;
  let sorted = { column: "", descending: false };
  const body = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Policies and figures",
  });

  /** The columns that are shown: each has a title, and a value of a policy. */
  const view = () => {
    const name = shown.slice(2);
    if (shown.startsWith("m:")) {
      const here = onMachine(cells, name);
      const columns = more ? all : all.filter((column) => FIRST.includes(column.name));
      return columns.map((column) => ({
        column,
        key: column.name,
        title: column.title,
        machine: name,
        cell: (policy: string) => here.find((cell) => cell.policy === policy),
      }));
    }
    const column = all.find((one) => one.name === name) as Column;
    return machines.map((machine) => ({
      column,
      key: machine,
      title: machine,
      machine,
      cell: (policy: string) =>
        cells.find((cell) => cell.policy === policy && cell.machine === machine),
    }));
  };
  const value = (at: ReturnType<typeof view>[number], policy: string): number | null => {
    const cell = at.cell(policy);
    return cell ? at.column.value(cell, baseline(at.machine)) : null;
  };
  const isWhole = (at: ReturnType<typeof view>[number], policy: string): boolean => {
    const cell = at.cell(policy);
    return cell !== undefined && !hasEnded(cell);
  };
  /** A tag with the accesses after which memory was used up, if it was. */
  const ended = (columns: ReturnType<typeof view>, policy: string): HTMLElement | false => {
    const cell = columns.map((at) => at.cell(policy)).find((cell) => cell && hasEnded(cell));
    if (cell === undefined) return false;
    const after = grouped(cell.out_of_memory_after ?? 0);
    return h("span", { class: "tag" }, `memory used up after ${after} accesses`);
  };
  const order = (columns: ReturnType<typeof view>): string[] => {
    const policies = distinct(cells, "policy");
    const by = columns.find((at) => at.key === sorted.column);
    const sign = sorted.descending ? -1 : 1;
    if (sorted.column === "policy")
      return policies.sort((one, other) => sign * one.localeCompare(other));
    if (!by) return policies;
    return policies.sort(
      (one, other) => sign * ((value(by, one) ?? Infinity) - (value(by, other) ?? Infinity)),
    );
  };
  const sortButton = (key: string, title: string, help: string, number: boolean): HTMLElement => {
    const state = sorted.column !== key ? "none" : sorted.descending ? "descending" : "ascending";
    return h(
      "th",
      { scope: "col", "aria-sort": state, class: number ? "number" : undefined },
      h(
        "button",
        {
          type: "button",
          title: help || undefined,
          "data-sort": key,
          onclick: () => {
            sorted = { column: key, descending: sorted.column === key && !sorted.descending };
            render();
            body.querySelector<HTMLElement>(`[data-sort="${CSS.escape(key)}"]`)?.focus();
          },
        },
        title,
        h(
          "span",
          { class: "arrow", "aria-hidden": "true" },
          { none: "", ascending: "▲", descending: "▼" }[state],
        ),
      ),
    );
  };
  const render = (): void => {
    const columns = view();
    const policies = order(columns);
    const rows = policies.map((policy) =>
      h(
        "tr",
        { "data-policy": policy },
        h(
          "th",
          { scope: "row", title: summary(policy, summaries) },
          h("span", { class: "dot", style: `background:${colour(policy)}`, "aria-hidden": "true" }),
          h("code", {}, policy),
          policy === BASELINE && h("span", { class: "tag" }, "no huge pages"),
          [...advised].some(
            ([machine, name]) => name === policy && columns.some((at) => at.machine === machine),
          ) && h("span", { class: "tag choice-tag" }, "the choice"),
          ended(columns, policy),
        ),
        columns.map((at) => {
          const number = value(at, policy);
          // A policy that ended early is compared with no other.
          const whole = policies.filter((other) => isWhole(at, other));
          const values = whole.map((other) => value(at, other));
          const present = values.filter((other): other is number => other !== null);
          const best =
            at.column.better !== 0 &&
            isWhole(at, policy) &&
            new Set(present).size > 1 &&
            number === (at.column.better < 0 ? Math.min(...present) : Math.max(...present));
          return h(
            "td",
            {
              class: best ? "number is-best" : "number",
              style: `--share:${(isWhole(at, policy) ? share(number, values) : 0).toFixed(4)}`,
              "data-machine": at.machine,
              "data-metric": at.column.name,
              "data-value": number,
              title:
                number === null
                  ? undefined
                  : Number.isInteger(number)
                    ? grouped(number)
                    : String(number),
            },
            number === null ? "–" : at.column.text(number),
          );
        }),
      ),
    );
    const heads = columns.map((at) => sortButton(at.key, at.title, at.column.help, true));
    body.replaceChildren(
      h(
        "table",
        { class: "matrix" },
        h(
          "thead",
          {},
          h("tr", {}, sortButton("policy", "policy", "The name of the policy", false), heads),
        ),
        h("tbody", {}, rows),
      ),
    );
  };
  const options = [
    ...machines.map((name) => ({
      value: `m:${name}`,
      text: `all figures on ${name}`,
      group: "One machine",
    })),
    ...(machines.length > 1
      ? all.map((column) => ({
          value: `f:${column.name}`,
          text: column.title,
          group: "One figure on all machines",
        }))
      : []),
  ];
  const pick = (chosen: string): void => {
    shown = chosen;
    sorted = { column: "", descending: false };
    render();
  };
  const whole = h("input", {
    type: "checkbox",
    onchange: () => {
      more = whole.checked;
      render();
    },
  });
  render();
  const rows = (): Rows => [
    ["policy", "machine", ...all.map((column) => column.name)],
    ...cells.map((cell) => [
      cell.policy,
      cell.machine,
      ...all.map((column) => column.value(cell, baseline(cell.machine))),
    ]),
  ];
  return figure({
    name: "matrix",
    title: machines.length > 1 ? "Every policy on every machine" : "Every policy",
    lead: [
      "Counts are exact. The head of a column sorts. ",
      "Its bars compare the rows, and the best is bold.",
    ],
    controls: [
      machines.length > 1 ? choice("Show", options, shown, pick) : "",
      h("label", { class: "check" }, whole, h("span", {}, "All figures")),
    ].filter((node): node is HTMLElement => node !== ""),
    body,
    rows,
    wide: true,
  }).element;
}
