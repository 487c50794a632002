// Refusals: why blocks kept base pages under each policy.

import { h } from "../dom";
import { figure, type Rows } from "../figure";
import { grouped, short, words } from "../format";

export interface Refusing {
  policy: string;
  promotions: number;
  refusals: Record<string, number>;
}

/** The table of refusals by reason, a row for each policy. */
export function refusalsFigure(results: Refusing[], lead: string): HTMLElement | null {
  const reasons = [...new Set(results.flatMap((result) => Object.keys(result.refusals)))].filter(
    (reason) => results.some((result) => (result.refusals[reason] ?? 0) > 0),
  );
  if (reasons.length === 0) return null;
  const most = Math.max(
    ...results.flatMap((result) => reasons.map((reason) => result.refusals[reason] ?? 0)),
  );
  const rows = (): Rows => [
    ["policy", "promotions", ...reasons],
    ...results.map((result) => [
      result.policy,
      result.promotions,
      ...reasons.map((reason) => result.refusals[reason] ?? 0),
    ]),
  ];
  const cell = (count: number, name: string): HTMLElement =>
    h(
      "td",
      {
        class: "number heat",
        // The root makes rare reasons visible beside common ones.
        style: `--share:${Math.sqrt(count / most).toFixed(4)}`,
        "data-refusals": name,
        "data-value": count,
        title: grouped(count),
      },
      count === 0 ? "–" : short(count),
    );
  const table = h(
    "table",
    { class: "matrix" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "policy"),
        h("th", { scope: "col", class: "number" }, "promotions"),
        reasons.map((reason) => h("th", { scope: "col", class: "number" }, words(reason))),
      ),
    ),
    h(
      "tbody",
      {},
      results.map((result) =>
        h(
          "tr",
          { "data-policy": result.policy },
          h("th", { scope: "row" }, h("code", {}, result.policy)),
          h("td", { class: "number" }, short(result.promotions)),
          reasons.map((reason) => cell(result.refusals[reason] ?? 0, reason)),
        ),
      ),
    ),
  );
  return figure({
    name: "refusals",
    title: "Why blocks kept small pages",
    lead: [lead],
    body: h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Refusals by reason" },
      table,
    ),
    rows,
    wide: true,
  }).element;
}
