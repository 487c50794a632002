// The results as a table that the reader sorts: all figures on one machine, or one on all.

import { choice, h } from "../dom";
import { figure, type Rows } from "../figure";
import { grouped } from "../format";
import { BASELINE, distinct, onMachine } from "../gain";
import type { Cell, Metric } from "../records";
import { colour } from "../state";
import { columnsOf, fileColumns, FIRST, hasEnded, sortKey } from "./columns";
import type { Column, Value } from "./columns";

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
  const all = columnsOf(cells, metrics);
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
  const value = (at: ReturnType<typeof view>[number], policy: string): Value => {
    const cell = at.cell(policy);
    return cell ? at.column.value(cell, baseline(at.machine)) : null;
  };
  const number = (at: ReturnType<typeof view>[number], policy: string): number | null => {
    const found = value(at, policy);
    return typeof found === "number" ? found : null;
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
    const key = new Map(policies.map((name) => [name, sortKey(by.column, value(by, name))]));
    // Policies without the value are last, whatever the direction.
    const missing = (name: string): number => Number(key.get(name) === Infinity);
    return policies.sort(
      (one, other) =>
        missing(one) - missing(other) || sign * ((key.get(one) ?? 0) - (key.get(other) ?? 0)) || 0,
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
  const cell = (at: ReturnType<typeof view>[number], policy: string, policies: string[]) => {
    const { column } = at;
    const found = value(at, policy);
    const record = at.cell(policy);
    const text = typeof found === "number" ? column.text(found, record as Cell) : (found ?? "–");
    // A policy that ended early is compared with no other.
    const isCompared = isWhole(at, policy);
    const values = policies.filter((other) => isWhole(at, other)).map((other) => number(at, other));
    const present = values.filter((other): other is number => other !== null);
    const best =
      column.better !== 0 &&
      isCompared &&
      new Set(present).size > 1 &&
      found === (column.better < 0 ? Math.min(...present) : Math.max(...present));
    const bar = isCompared && !column.plain ? share(number(at, policy), values) : 0;
    const range = record && column.range?.(record);
    const exact = typeof found === "number" && Number.isInteger(found) ? grouped(found) : found;
    return h(
      "td",
      {
        class: best ? "number is-best" : "number",
        style: `--share:${bar.toFixed(4)}`,
        "data-machine": at.machine,
        "data-metric": column.name,
        "data-value": found,
        "data-low": range?.low,
        "data-high": range?.high,
        title: range ? `${range.low} to ${range.high}, in the middle ${range.middle}` : exact,
      },
      text,
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
        columns.map((at) => cell(at, policy, policies)),
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
  const fields = all.flatMap(fileColumns);
  const rows = (): Rows => [
    ["policy", "machine", ...fields.map(({ name }) => name)],
    ...cells.map((cell) => [
      cell.policy,
      cell.machine,
      ...fields.map((field) => field.value(cell, baseline(cell.machine))),
    ]),
  ];
  return figure({
    name: "matrix",
    title: machines.length > 1 ? "Every policy on every machine" : "Every policy",
    lead: [
      "Counts are exact, and run times are ranges. The head of a column sorts. ",
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
