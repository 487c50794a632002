// Where the figures come from, and their limits.

import { h } from "./dom";
import { grouped } from "./format";
import type { Provenance, TraceSummary } from "./records";

interface Origins {
  provenance?: Provenance;
  trace?: TraceSummary;
  notes: string[];
  damage?: string | null;
  /** Sentences on what the figures do not cover. */
  limits: string[];
  /** Further lines: a name and a value. */
  more?: [string, string][];
}

/** The last section of a page. */
export function provenanceSection({
  provenance,
  trace,
  notes,
  damage,
  limits,
  more = [],
}: Origins): HTMLElement {
  const lines: [string, string][] = [];
  if (trace) {
    lines.push(["trace", trace.path], ["hash of the trace", trace.hash]);
    lines.push([
      "accesses",
      `${grouped(trace.accesses)} (${grouped(trace.loads)} loads, ${grouped(trace.stores)} stores)`,
    ]);
    if (trace.instructions > 0) lines.push(["instructions", grouped(trace.instructions)]);
    lines.push(["pages touched", grouped(trace.pages)]);
    lines.push(["events of the address space", trace.events ? "recorded" : "not recorded"]);
  }
  lines.push(...more);
  if (provenance) {
    lines.push(["Broadleaf", `${provenance.version} (${provenance.commit || "unknown commit"})`]);
    lines.push(["hash of the request", provenance.config_hash], ["computer", provenance.host]);
  }
  return h(
    "section",
    { class: "origins", id: "origins", "aria-labelledby": "origins-heading" },
    h("h2", { id: "origins-heading" }, "Where these figures come from"),
    damage && h("p", { class: "warning" }, damage),
    h(
      "div",
      { class: "columns" },
      h(
        "dl",
        {},
        lines
          .filter(([, value]) => value !== "")
          .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
      h(
        "div",
        {},
        notes.length > 0 && [
          h("h3", {}, "Notes"),
          h(
            "ul",
            {},
            notes.map((note) => h("li", {}, note)),
          ),
        ],
        limits.length > 0 && [
          h("h3", {}, "Limits"),
          h(
            "ul",
            {},
            limits.map((limit) => h("li", {}, limit)),
          ),
        ],
      ),
    ),
  );
}
