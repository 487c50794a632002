// The pages of the other commands: every figure equals the JSON; and the difference of two results.

import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import { PAGES, browser, json, names, open, rows, saved, violations } from "./browser.mjs";

let chromium;
before(async () => {
  chromium = await browser();
});
after(() => chromium?.close());

const all = PAGES ? names() : [];
const only = (name) => ({ skip: !all.includes(name) });

/** The records of a page. */
const records = (page) =>
  page.$eval("#broadleaf-records", (element) => JSON.parse(element.textContent));

for (const name of all.filter((one) => !/^(compare|several)/.test(one))) {
  test(`${name}: the page opens with the answer and the commands`, async () => {
    const page = await open(chromium, name);
    const answer = (await records(page)).find((one) => one.schema === "broadleaf.answer/1");
    const said = await page.textContent(".answer .words");
    for (const word of answer.sentence.split(/\W+/).slice(0, 5)) assert.ok(said.includes(word));
    const typed = await page.$$eval(".answer code", (codes) => codes.map((one) => one.textContent));
    assert.deepEqual(
      typed,
      answer.commands.map(({ command }) => command),
    );
    await page.context().close();
  });
}

test("advise: the table has the ranges", only("advise"), async () => {
  const page = await open(chromium, "advise");
  const { ranges } = json("advise");
  const table = rows(await saved(page, "ranges", "csv"));
  assert.equal(table.length, ranges.length);
  table.forEach((line, at) => {
    for (const field of ["cycles_gained", "walks_spared", "walk_cycles_spared", "added_bytes"]) {
      assert.equal(Number(line[field]), ranges[at][field], field);
    }
  });
  await page.context().close();
});

test("replay: the table has the policies", only("replay"), async () => {
  const page = await open(chromium, "replay");
  const { policies } = json("replay");
  const table = rows(await saved(page, "policies", "csv"));
  assert.equal(table.length, policies.length);
  table.forEach((line, at) => {
    for (const field of ["promotions", "demotions", "huge_bytes_peak", "added_bytes_peak"]) {
      assert.equal(Number(line[field]), policies[at][field], field);
    }
  });
  await page.context().close();
});

test("report: the table has the forecasts", only("report"), async () => {
  const page = await open(chromium, "report");
  const [live] = await records(page);
  if (await page.locator("#forecasts").count()) {
    const shown = rows(await saved(page, "forecasts", "csv"));
    const forecasts = live.processes.flatMap((process) => process.policies);
    for (const line of shown) {
      assert.ok(
        forecasts.some(
          (one) =>
            one.would_promote === Number(line.would_promote) &&
            one.covered_bytes === Number(line.covered_bytes) &&
            one.added_bytes === Number(line.added_bytes),
        ),
      );
    }
  }
  await page.context().close();
});

test("baseline: the table has every run", only("baseline"), async () => {
  const page = await open(chromium, "baseline");
  const report = json("baseline");
  const runs = [...report.base_pages, ...report.without, ...report.with, ...report.huge_pages];
  const table = rows(await saved(page, "runs", "csv"));
  assert.deepEqual(
    table.map((line) => Number(line.user_seconds)),
    runs.map((run) => run.user_seconds),
  );
  await page.context().close();
});

test("paper: each claim has its verdict, and each table its rows", only("paper"), async () => {
  const page = await open(chromium, "paper");
  const [paper] = await records(page);
  const verdicts = await page.$$eval(".verdict", (all) => all.map((one) => one.dataset.agrees));
  const claims = paper.tables.flatMap((table) => table.claims);
  assert.deepEqual(
    verdicts,
    claims.map(({ agrees }) => agrees),
  );
  assert.equal(paper.agreeing, claims.filter(({ agrees }) => agrees === "yes").length);
  for (const table of paper.tables.filter((one) => one.rows.length > 0)) {
    const lines = await page.locator(`#table-${table.name} tbody tr`).count();
    assert.equal(lines, Math.min(60, table.rows.length), table.name);
  }
  await page.context().close();
});

const compared = all.filter((name) => name.startsWith("compare"));

test("the difference of two results", { skip: compared.length < 2 }, async () => {
  const [one, other] = compared;
  const page = await open(chromium, one);
  const [mine, theirs] = [json(one), json(other)];
  for (const file of [`${other}.html`, `${other}.json`]) {
    await page.setInputFiles("#difference input[type=file]", path.join(PAGES, file));
    await page.waitForSelector("#difference td");
    const cells = await page.$$eval('#difference td[data-field="walk_cycles"]', (all) =>
      all.map((cell) => ({
        name: cell.closest("tr").querySelector("code").textContent,
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
  }
  await page.setInputFiles("#difference input[type=file]", {
    name: "x.json",
    mimeType: "application/json",
    buffer: Buffer.from("[1]"),
  });
  await page.waitForFunction(() =>
    document.querySelector("#difference [role=status]").textContent.includes("cannot be compared"),
  );
  await page.context().close();
});

test("several: the means, and each trace in turn", only("several"), async () => {
  const page = await open(chromium, "several");
  const { comparisons, means } = json("several");
  const table = rows(await saved(page, "means", "csv"));
  assert.equal(table.length, means.length);
  table.forEach((line, at) => {
    for (const field of ["walk_cycles_geometric_mean", "walk_cycles_mean", "added_share_mean"]) {
      const value = means[at][field];
      assert.equal(line[field], value === null ? "" : String(value), field);
    }
  });
  for (const [at, comparison] of comparisons.entries()) {
    await page.selectOption(".controls select", String(at));
    const shown = rows(await saved(page, "matrix", "csv"));
    const cycles = comparison.results.map((cell) => String(cell.walk_cycles));
    assert.ok(shown.length > 0);
    for (const line of shown) assert.ok(cycles.includes(line.walk_cycles), line.walk_cycles);
    assert.deepEqual(await violations(page), []);
  }
  await page.context().close();
});

test("a table is an SVG file with its texts", only("replay"), async () => {
  const page = await open(chromium, "replay");
  const { policies } = json("replay");
  const svg = await saved(page, "policies", "svg");
  assert.match(svg, /^<\?xml[^>]*>\s*<svg xmlns/);
  for (const { policy } of policies) assert.ok(svg.includes(policy), policy);
  await page.context().close();
});
