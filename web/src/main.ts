// The page: reads its records, and shows each by its kind.

import "./fonts.css";
import "./style.css";
import "./figures.css";
import "./maps.css";
import "./print.css";
import { h } from "./dom";
import { differenceFigure } from "./figures/difference";
import { save } from "./download";
import { from, type Origin } from "./origin";
import { preparePaper } from "./print";
import { kind, parse, type AnyRecord, type Cell, type Metric, type PolicyEntry } from "./records";
import { themeButton } from "./theme";
import { showTips } from "./tip";
import { adviseView } from "./views/advise";
import { baselineView } from "./views/baseline";
import { compareView, type Beside } from "./views/compare";
import { liveView } from "./views/live";
import { paperView } from "./views/paper";
import { replayView } from "./views/replay";
import { severalView } from "./views/several";

const LEAF =
  '<svg viewBox="0 0 24 24" aria-hidden="true">' +
  '<path d="M3 21C4 9 10 3.500 21 3c.5 10-4.500 15.500-12.500 15.500-1.500 0-2.800-.3-3.800-.9"/>' +
  '<path class="vein" d="M3.500 20.500C7 15.500 11 11.500 16 8.500"/></svg>';

function header(records: AnyRecord[], title: string): HTMLElement {
  const mark = h("span", { class: "mark" });
  mark.innerHTML = LEAF;
  return h(
    "header",
    { class: "top" },
    h("a", { class: "skip", href: "#content" }, "Skip to the answer"),
    h(
      "p",
      { class: "brand" },
      mark,
      h("span", {}, "Broadleaf"),
      h("span", { class: "title" }, title),
    ),
    h(
      "div",
      { class: "tools" },
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": "Save the results as JSON",
          onclick: () => save("results.json", "application/json", JSON.stringify(records, null, 2)),
        },
        "JSON",
      ),
      h("button", { type: "button", class: "quiet", onclick: () => print() }, "Print"),
      themeButton(),
    ),
  );
}

/** Lists beside results: meanings of metrics, summaries of policies, results to compare with. */
function beside(records: AnyRecord[]): Beside {
  const list = <T>(name: string, field: string): T[] =>
    records
      .filter((record) => kind(record) === name)
      .flatMap((record) => (record[field] ?? []) as T[]);
  const policies = list<PolicyEntry>("policies", "policies");
  return {
    references: list<Cell>("references", "results"),
    metrics: list<Metric>("metrics", "metrics"),
    summaries: new Map(policies.map(({ name, summary }) => [name, summary])),
  };
}

/** The views by the kind of record, with the title of the page. */
const VIEWS: Record<
  string,
  { title: string; view: (record: AnyRecord, beside: Beside, records: AnyRecord[]) => Node[] }
> = {
  compare: { title: "Comparison of policies", view: compareView },
  comparisons: { title: "Comparison of policies on several traces", view: severalView },
  advice: { title: "Memory that is worth huge pages", view: adviseView },
  report: { title: "Live processes", view: liveView },
  baseline: { title: "A program in turns", view: baselineView },
  replay: { title: "A replayed journal", view: replayView },
  paper: { title: "A repeated paper", view: paperView },
};

function show(): void {
  const page = document.getElementById("page");
  const records = parse(document.getElementById("broadleaf-records")?.textContent ?? "[]");
  const main = records.find((record) => kind(record) in VIEWS);
  if (!page) return;
  if (!main) {
    page.append(h("main", { id: "content" }, h("h1", {}, "This page holds no results.")));
    return;
  }
  const found = VIEWS[kind(main)];
  if (!found) return;
  document.title = `${found.title} · Broadleaf`;
  const known = beside(records);
  from(main as Origin);
  page.append(
    header(records, found.title),
    h("main", { id: "content", tabindex: -1 }, found.view(main, known, records)),
  );
  from(main as Origin);
  // The difference is the last figure of each page that has one.
  const difference = differenceFigure(main, known.metrics);
  if (difference) page.querySelector(".figures")?.append(difference);
  showTips();
  preparePaper();
}

/** Marks the page as drawn, once the browser has shown the first figures. */
function sayDrawn(): void {
  const mark = (): void => {
    performance.mark("broadleaf-drawn");
    document.documentElement.dataset["drawn"] = "";
  };
  // Figures draw once they have a width: before the first frame, which the second one follows.
  requestAnimationFrame(() => requestAnimationFrame(mark));
}

show();
sayDrawn();
