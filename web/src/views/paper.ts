// The page of `paper`: tables of experiments, and the paper's claims with verdicts.

import { tiles } from "../answer";
import { answered } from "../answered";
import { h } from "../dom";
import { figure, type Rows } from "../figure";
import { tableFigure } from "../figures/table";
import { grouped } from "../format";
import { provenanceSection } from "../provenance";
import type { AnyRecord, Provenance } from "../records";

interface Verdict {
  claim: string;
  agrees: string;
  paper: string;
  here: string;
  reason: string;
}

interface Table {
  name: string;
  title: string;
  text: string;
  columns: string[];
  rows: string[][];
  rows_left_out: number;
  claims: Verdict[];
}

interface Paper extends AnyRecord {
  paper: string;
  title: string;
  source: string;
  remarks: string;
  scale: string;
  tables: Table[];
  claims: number;
  agreeing: number;
  not_shown: number;
  provenance: Provenance;
}

/** The rows of a table of the page. CSV has them all. */
const ROWS = 60;

/** A cell as a number, if it is one that a number shows as it was written. */
function number(cell: string): string | number {
  return String(Number(cell)) === cell ? Number(cell) : cell;
}

function claims(paper: Paper): HTMLElement {
  const all = paper.tables.flatMap((table) => table.claims.map((claim) => ({ table, claim })));
  const words: Record<string, string> = { yes: "agrees", no: "does not agree" };
  const body = h(
    "ol",
    { class: "verdicts" },
    all.map(({ table, claim }) =>
      h(
        "li",
        { class: `verdict ${claim.agrees.replace(" ", "-")}`, "data-agrees": claim.agrees },
        h("strong", {}, words[claim.agrees] ?? claim.agrees),
        h("span", {}, `${claim.claim}. `),
        claim.paper !== "" &&
          h("span", { class: "when" }, `${paper.source}: ${claim.paper}; here: ${claim.here}. `),
        claim.reason !== "" && h("span", { class: "when" }, `Reason: ${claim.reason}. `),
        table.rows.length > 0 && h("a", { href: `#table-${table.name}` }, table.title),
      ),
    ),
  );
  const rows = (): Rows => [
    ["table", "claim", "agrees", "paper", "here", "reason"],
    ...all.map(({ table, claim }) => [
      table.name,
      claim.claim,
      claim.agrees,
      claim.paper,
      claim.here,
      claim.reason,
    ]),
  ];
  return figure({ name: "claims", title: "The paper's claims", body, rows, wide: true }).element;
}

export function paperView(record: AnyRecord, _: unknown, records: AnyRecord[]): Node[] {
  const paper = record as Paper;
  const tables = paper.tables
    .filter((table) => table.rows.length > 0)
    .map((table) =>
      tableFigure(
        {
          name: `table-${table.name}`,
          title: table.title,
          lead: [table.text],
          wide: table.columns.length > 5,
        },
        table.rows,
        table.columns.map((title, column) => ({
          name: title,
          title,
          value: (row: string[]) => (column === 0 ? row[column] : number(row[column] ?? "")) ?? "",
          text: (value: number) => String(value),
        })),
        ROWS,
      ),
    );
  const left = paper.tables.filter((table) => table.rows_left_out > 0);
  return [
    answered(records, "A repeated paper"),
    tiles([
      { name: "claims", value: paper.claims },
      { name: "agree", value: paper.agreeing },
      { name: "not shown", value: paper.not_shown },
      { name: "tables", value: paper.tables.length },
      { name: "scale", value: paper.scale },
    ]),
    h("div", { class: "figures" }, claims(paper), tables),
    provenanceSection({
      ...paper,
      notes: [paper.remarks].filter((text) => text !== ""),
      limits: left.map(
        (table) => `${table.title}: ${grouped(table.rows_left_out)} rows are in files alone (-o).`,
      ),
    }),
  ];
}
