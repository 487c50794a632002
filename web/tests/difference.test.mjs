// The difference of two results.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { PAGES, json, names, recordsOf, rows, saved, violations } from "./browser.mjs";
import { open, openChanged } from "./tab.mjs";

const all = PAGES ? names() : [];
const only = (name) => ({ skip: !all.includes(name) });

const compared = all.filter((name) => name.startsWith("compare"));

test("the difference of two results", { skip: compared.length < 2 }, async () => {
  const [one, other] = compared;
  const page = await open(one);
  const [mine, theirs] = [json(one), json(other)];
  for (const file of [`${other}.html`, `${other}.json`]) {
    await page.setInputFiles("#difference input[type=file]", path.join(PAGES, file));
    await page.waitForSelector("#difference td");
    const cells = await page.$$eval('#difference td[data-field="walk_cycles"]', (all) =>
      all.map((cell) => ({
        name: cell.closest("tr").querySelector("th").textContent,
        before: Number(cell.dataset.before),
        after: Number(cell.dataset.after),
      })),
    );
    assert.ok(cells.length > 0);
    for (const { name, before, after } of cells) {
      const [policy, machine] = name.split(" on ");
      const of = (result) =>
        result.results.find(
          (cell) => cell.policy === policy && cell.machine === machine,
        ).walk_cycles;
      assert.deepEqual([before, after], [of(theirs), of(mine)], name);
    }
    const table = rows(await saved(page, "difference", "csv"));
    for (const line of table) {
      assert.equal(Number(line.change), Number(line.this) - Number(line.other));
    }
    const svg = await saved(page, "difference", "svg");
    for (const { name } of cells) assert.ok(svg.includes(name), name);
    assert.deepEqual(await violations(page), []);
  }
  await page.setInputFiles("#difference input[type=file]", {
    name: "x.json",
    mimeType: "application/json",
    buffer: Buffer.from("[1]"),
  });
  await page.waitForFunction(() =>
    document.querySelector("#difference [role=status]").textContent.includes("cannot be compared"),
  );
});

/**
 * Compares a page with itself, in which `change` has changed the first record, and returns the rows
 * of the difference.
 */
async function differenceTo(name, change) {
  const page = await open(name);
  const other = recordsOf(name);
  change(other[0]);
  await page.setInputFiles("#difference input[type=file]", {
    name: "other.json",
    mimeType: "application/json",
    buffer: Buffer.from(JSON.stringify(other)),
  });
  await page.waitForSelector("#difference td");
  const table = rows(await saved(page, "difference", "csv"));
  assert.match(await saved(page, "difference", "svg"), /<svg [^]*→/);
  assert.deepEqual(await violations(page), []);
  return { table, changed: table.filter((line) => line.this !== line.other) };
}

test("the difference of several traces", only("several"), async () => {
  const { table, changed } = await differenceTo("several", ({ comparisons }) => {
    comparisons[1].results[0].walk_cycles += 7;
  });
  const { comparisons } = json("several");
  const cells = comparisons.flatMap(({ results }) => results);
  assert.equal(table.filter(({ field }) => field === "walk_cycles").length, cells.length);
  const [{ trace, results }] = comparisons.slice(1);
  const name = `${trace.path}: ${results[0].policy} on ${results[0].machine}`;
  assert.deepEqual(
    changed.map((line) => [line.name, line.field, line.change]),
    [[name, "walk_cycles", "-7"]],
  );
});

test("the difference of programs in turns", only("baseline"), async () => {
  const { changed } = await differenceTo("baseline", (report) => {
    for (const run of report.huge_pages) run.page_faults += 2;
  });
  assert.deepEqual(
    changed.map((line) => [line.name, line.field, line.change]),
    [["all huge pages, median", "page_faults", "-2"]],
  );
});

test("the difference of a paper's repetitions: verdicts and figures", only("paper"), async () => {
  const [paper] = recordsOf("paper");
  const at = paper.tables.findIndex((table) => table.claims.length > 0 && table.rows.length > 0);
  const { rows: lines, columns, title, claims } = paper.tables[at];
  const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
  const column = lines[0].findIndex((cell, column) => column > 0 && isNumber(cell));
  const verdict = (agrees) => (agrees === "yes" ? "agrees" : "does not agree");
  const before = claims[0].agrees === "yes" ? "no" : "yes";
  const { changed } = await differenceTo("paper", ({ tables }) => {
    tables[at].claims[0].agrees = before;
    tables[at].rows[0][column] = String(Number(lines[0][column]) + 5);
  });
  const [claim, figure] = changed;
  assert.equal(changed.length, 2);
  assert.equal(claim.name, `Claim: ${claims[0].claim}`);
  assert.equal(claim.other, verdict(before));
  assert.ok(figure.name.startsWith(`${title}: `) && figure.name.endsWith(`, ${columns[column]}`));
  assert.equal(Number(figure.change), Number(lines[0][column]) - Number(figure.other));
});

test("the difference of a paper's repetitions: figures with marks", only("paper"), async () => {
  const [at, row, name] = [0, "first", "Marks: first, thesis's"];
  const before = ["1,234", "12.3%", "1.5x", "+-0.31", "about 2 of 3", "-"];
  const after = ["1,235", "10.3%", "2.5x", "+-0.51", "about 1 of 3", "4k"];
  const columns = ["program", "whose", "accesses", "share", "gain", "range", "words", "best"];
  const table = (cells) => ({
    title: "Marks",
    columns,
    claims: [],
    rows: [
      [row, "thesis's", ...cells],
      ["other", "thesis's", "1", "2", "3", "4", "5", "6"],
    ],
  });
  const page = await openChanged("paper", ([paper]) => (paper.tables[at] = table(after)));
  const other = recordsOf("paper");
  other[0].tables[at] = table(before);
  await page.setInputFiles("#difference input[type=file]", {
    name: "other.json",
    mimeType: "application/json",
    buffer: Buffer.from(JSON.stringify(other)),
  });
  await page.waitForSelector("#difference td");
  const all = rows(await saved(page, "difference", "csv"));
  const changed = all.filter((line) => line.this !== line.other);
  assert.deepEqual(
    changed.map((line) => line.name),
    columns.slice(2).map((column) => `${name}, ${column}`),
  );
  const changes = changed.map(({ change }) => change);
  assert.deepEqual(changes.slice(0, 3), ["1", "-2", "1"]);
  assert.ok(Math.abs(Number(changes[3]) - 0.2) < 1e-9);
  assert.deepEqual(changes.slice(4), ["", ""]);
  assert.deepEqual([changed[5].other, changed[5].this], ["-", "4k"]);
});
