// The page of `compare`: every figure equals the JSON.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { PAGES, browser, json, names, open, rows, saved } from "./browser.mjs";

let chromium;
before(async () => {
  chromium = await browser();
});
after(() => chromium?.close());

const compared = PAGES ? names().filter((name) => name.startsWith("compare")) : [];

for (const name of compared) {
  test(`${name}: the page holds the JSON of the command`, async () => {
    const page = await open(chromium, name);
    const records = await page.$eval("#broadleaf-records", (element) =>
      JSON.parse(element.textContent),
    );
    const { provenance, ...wanted } = json(name);
    const { provenance: ours, ...held } = records[0];
    assert.deepEqual(held, wanted);
    assert.equal(ours.version, provenance.version);
    await page.context().close();
  });

  test(`${name}: the table has the counts`, async () => {
    const page = await open(chromium, name);
    const { results } = json(name);
    if (await page.locator("#matrix select").count()) {
      for (const machine of new Set(results.map((result) => result.machine))) {
        await page.selectOption("#matrix select", `m:${machine}`);
        await check(page, results, machine);
      }
    } else {
      await check(page, results, results[0].machine);
    }
    await page.context().close();
  });

  test(`${name}: the files have the counts`, async () => {
    const page = await open(chromium, name);
    const { results } = json(name);
    const table = rows(await saved(page, "matrix", "csv"));
    assert.equal(table.length, results.length);
    table.forEach((row, i) => {
      assert.equal(row.policy, results[i].policy);
      for (const field of ["walk_cycles", "l2_misses", "page_faults", "promotions", "demotions"]) {
        assert.equal(Number(row[field]), results[i][field], field);
      }
    });
    const svg = await saved(page, "frontier", "svg");
    assert.match(svg, /^<\?xml[^]*<svg [^]*<path /);
    assert.doesNotMatch(svg, /var\(|light-dark/);
    const points = rows(await saved(page, "frontier", "csv"));
    for (const point of points) {
      const result = results.find(
        (one) => one.policy === point.policy && one.machine === point.machine,
      );
      const cycles =
        result.walk_cycles + (result.fault_cycles ?? 0) + (result.bookkeeping_cycles ?? 0);
      assert.equal(Number(point.cycles), cycles);
    }
    await page.context().close();
  });
}

async function check(page, results, machine) {
  await page.check("#matrix .check input");
  const cells = await page.$$eval("#matrix td[data-metric]", (all) =>
    all.map((cell) => ({
      policy: cell.closest("tr").dataset.policy,
      metric: cell.dataset.metric,
      machine: cell.dataset.machine,
      value: cell.dataset.value,
    })),
  );
  let compared = 0;
  for (const cell of cells) {
    const result = results.find((one) => one.policy === cell.policy && one.machine === machine);
    assert.equal(cell.machine, machine);
    if (typeof result[cell.metric] !== "number") continue;
    assert.equal(Number(cell.value), result[cell.metric], `${cell.policy} ${cell.metric}`);
    compared += 1;
  }
  const here = results.filter((one) => one.machine === machine);
  assert.ok(compared >= 10 * here.length, `${compared} cells`);
  const refused = await page.$$eval("#refusals td[data-refusals]", (all) =>
    all.map((cell) => [
      cell.closest("tr").dataset.policy,
      cell.dataset.refusals,
      Number(cell.dataset.value),
    ]),
  );
  const first = results.filter((one) => one.machine === results[0].machine);
  for (const [policy, reason, count] of refused) {
    assert.equal(count, first.find((one) => one.policy === policy).refusals[reason] ?? 0);
  }
}

test(
  "the table sorts by a column, from the keyboard",
  { skip: !compared.includes("compare-curve") },
  async () => {
    const page = await open(chromium, "compare-curve");
    const column = () =>
      page.$$eval('#matrix td[data-metric="page_faults"]', (all) =>
        all.map((cell) => Number(cell.dataset.value)),
      );
    await page.focus('#matrix [data-sort="page_faults"]');
    await page.keyboard.press("Enter");
    const rising = await column();
    assert.deepEqual(
      rising,
      [...rising].sort((one, other) => one - other),
    );
    await page.keyboard.press("Enter");
    assert.deepEqual(await column(), rising.toReversed());
    assert.equal(
      await page.getAttribute('#matrix th:has([data-sort="page_faults"])', "aria-sort"),
      "descending",
    );
    await page.context().close();
  },
);

test(
  "curves have the misses, and mark the machine",
  { skip: !compared.includes("compare-curve") },
  async () => {
    const page = await open(chromium, "compare-curve");
    const { results, machines } = json("compare-curve");
    const points = rows(await saved(page, "curves", "csv"));
    assert.equal(points.length, results.flatMap((result) => result.curve ?? []).length);
    for (const point of points) {
      const { curve } = results.find((result) => result.policy === point.policy);
      const there = curve.find((one) =>
        ["page_size", "sets", "ways"].every((field) => one[field] === Number(point[field])),
      );
      assert.equal(Number(point.misses), there.misses);
    }
    const size = Number(await page.$eval("#curves select", (select) => select.value));
    const structures = machines[0].structures.filter((structure) => structure.sizes.includes(size));
    const marks = await page.$$eval("#curves .mark text", (all) =>
      all.map((mark) => mark.textContent),
    );
    assert.equal(marks.length, structures.length);
    structures.forEach(({ name }, i) => assert.ok(marks[i].startsWith(name)));
    await page.context().close();
  },
);

test(
  "memory over time has the samples",
  { skip: !compared.includes("compare-memory") },
  async () => {
    const page = await open(chromium, "compare-memory");
    const { results } = json("compare-memory");
    const samples = rows(await saved(page, "memory", "csv"));
    const wanted = results.flatMap(({ policy, over_time }) =>
      over_time.map((sample) => ({ policy, ...sample })),
    );
    assert.equal(samples.length, wanted.length);
    samples.forEach((sample, i) => {
      for (const field of ["time", "resident_pages", "superpage_pages", "bloat_pages"]) {
        assert.equal(Number(sample[field]), wanted[i][field], field);
      }
    });
    await page.context().close();
  },
);

test(
  "a policy whose memory was used up is compared with no other",
  { skip: !compared.includes("compare-memory") },
  async () => {
    // The policy with the fewest walk cycles ends early instead.
    const written = fs.readFileSync(path.join(PAGES, "compare-memory.html"), "utf8");
    const { results } = json("compare-memory");
    const first = results.toSorted((one, other) => one.walk_cycles - other.walk_cycles)[0];
    const edited = written.replace(
      /(<script id="broadleaf-records" type="application\/json">)([^]*?)(<\/script>)/,
      (_, begin, records, end) => {
        const all = JSON.parse(records);
        const cell = all[0].results.find((one) => one.policy === first.policy);
        Object.assign(cell, { out_of_memory_after: 1000, walk_cycles: 1 });
        return begin + JSON.stringify(all).replaceAll("<", "\\u003c") + end;
      },
    );
    assert.notEqual(edited, written);
    const name = "ended-early";
    fs.writeFileSync(path.join(PAGES, `${name}.html`), edited);
    const page = await open(chromium, name);
    const row = page.locator(`#matrix tr[data-policy="${first.policy}"]`);
    assert.match(await row.locator("th").innerText(), /memory used up after 1,000 accesses/);
    assert.equal(await row.locator(".is-best").count(), 0);
    assert.equal(await row.locator('[data-metric="saved"]').innerText(), "–");
    assert.ok((await page.locator("#matrix .is-best").count()) > 0);
    await page.context().close();
    fs.rmSync(path.join(PAGES, `${name}.html`));
  },
);
