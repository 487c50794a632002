// The page of `compare`: every figure equals the JSON.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { PAGES, json, names, recordsOf, rows, saved, tiles, violations } from "./browser.mjs";
import { open, openChanged, read } from "./tab.mjs";

const compared = PAGES ? names().filter((name) => name.startsWith("compare")) : [];

for (const name of compared) {
  test(`${name}: the page holds the JSON of the command`, () => {
    const { provenance, ...wanted } = json(name);
    const [{ provenance: ours, ...held }] = recordsOf(name);
    assert.deepEqual(held, wanted);
    assert.equal(ours.version, provenance.version);
  });

  test(`${name}: the table has the counts`, async () => {
    const page = await open(name);
    const { results } = json(name);
    if (await page.locator("#matrix select").count()) {
      for (const machine of new Set(results.map((result) => result.machine))) {
        await page.selectOption("#matrix select", `m:${machine}`);
        await check(page, results, machine);
      }
    } else {
      await check(page, results, results[0].machine);
    }
  });

  test(`${name}: the files have the counts`, async () => {
    const page = await open(name);
    const { results, trace, provenance } = json(name);
    const table = rows(await saved(page, "matrix", "csv"));
    assert.equal(table.length, results.length);
    table.forEach((row, i) => {
      assert.deepEqual(
        [row.trace, row.trace_hash, row.version],
        [trace.path, trace.hash, provenance.version],
      );
      assert.equal(row.policy, results[i].policy);
      for (const field of ["walk_cycles", "l2_misses", "page_faults", "promotions", "demotions"]) {
        assert.equal(Number(row[field]), results[i][field], field);
      }
    });
    const svg = await saved(page, "frontier", "svg");
    assert.match(svg, /^<\?xml[^]*<svg [^]*<path /);
    assert.ok(svg.includes(`trace_hash ${trace.hash}, version ${provenance.version}</desc>`));
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
  });
}

/** The sentences of all metrics by their names, as the book has them from the catalogue. */
function catalogue() {
  const book = fs.readFileSync(new URL("../../docs/book/src/metrics.md", import.meta.url), "utf8");
  const lines = [...book.matchAll(/^\| `(\w+)` \|.*\| (.*) \|$/gm)];
  return new Map(lines.map(([, name, sentence]) => [name, sentence]));
}

/** The figures of a run time by their columns: words, numbers, and ranges with both ends. */
function runTimes(run_time) {
  if (!run_time) return {};
  const ratio = { low: run_time.ratio_low, middle: run_time.ratio, high: run_time.ratio_high };
  return {
    run_time_class: run_time.class,
    run_time_basis: run_time.basis,
    run_time_ratio: ratio,
    run_time_user_seconds: run_time.user_seconds,
    run_time_system_seconds: run_time.system_seconds,
    fault_seconds_saved: run_time.fault_seconds?.saved,
    zeroing_seconds_paid: run_time.fault_seconds?.paid,
  };
}

/** Checks cells and rows of a file against the run times of the JSON. Returns their number. */
function checkRunTimes(cells, table, results) {
  let compared = 0;
  for (const result of results) {
    const line = table.find(
      (row) => row.policy === result.policy && row.machine === result.machine,
    );
    for (const [metric, wanted] of Object.entries(runTimes(result.run_time))) {
      const cell = cells.find((one) => one.policy === result.policy && one.metric === metric);
      if (wanted === undefined) continue;
      const about = `${result.policy} ${metric}`;
      const { low, middle, high } = typeof wanted === "object" ? wanted : { middle: wanted };
      assert.equal(cell.value, String(middle), about);
      assert.equal(line[metric], String(middle), about);
      if (low !== undefined) {
        assert.deepEqual([cell.low, cell.high], [String(low), String(high)], about);
        const ends = [line[`${metric}_low`], line[`${metric}_high`]];
        assert.deepEqual(ends, [String(low), String(high)], about);
        assert.ok(/^[-\d.]+( to [-\d.]+)?( s)?$/.test(cell.text), cell.text);
      }
      compared += 1;
    }
  }
  return compared;
}

/** The cells of the matrix. */
function cellsOf(page) {
  return page.$$eval("#matrix td[data-metric]", (all) =>
    all.map((cell) => ({
      policy: cell.closest("tr").dataset.policy,
      ...cell.dataset,
      text: cell.textContent,
    })),
  );
}

async function check(page, results, machine) {
  await page.check("#matrix .check input");
  const cells = await cellsOf(page);
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
  const table = rows(await saved(page, "matrix", "csv"));
  const timed = here.filter(({ run_time }) => run_time);
  assert.ok(checkRunTimes(cells, table, here) >= 3 * timed.length, "run times");
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
    const page = await open("compare-curve");
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
  },
);

test(
  "curves have the misses, and mark the machine",
  { skip: !compared.includes("compare-curve") },
  async () => {
    const page = await open("compare-curve");
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
  },
);

test(
  "each machine has the curves of its own page sizes",
  { skip: !compared.includes("compare-curve") },
  async () => {
    const page = await openChanged("compare-curve", ([comparison]) => {
      const { results, machines } = comparison;
      const larger = (points) => points.map((point) => ({ ...point, page_size: 16384 }));
      const there = results.map(({ curve, ...cell }) => ({
        ...cell,
        machine: "other",
        ...(curve && { curve: larger(curve) }),
      }));
      results.push(...there);
      const [{ structures }] = machines;
      const marks = structures.map((one) => ({ ...one, name: "mark", sizes: [16384] }));
      machines.push({ ...machines[0], name: "other", structures: marks });
    });
    const sizes = async () => {
      const points = rows(await saved(page, "curves", "csv"));
      return new Set(points.map((point) => `${point.machine} ${point.page_size}`));
    };
    const [first] = recordsOf("compare-curve")[0].machines;
    for (const one of await sizes()) assert.ok(one.startsWith(`${first.name} `), one);
    const picker = page.locator("#curves label", { hasText: "Machine" }).locator("select");
    await picker.selectOption("other");
    assert.deepEqual([...(await sizes())], ["other 16384"]);
    const offered = page.locator("#curves label", { hasText: "Pages of" }).locator("option");
    assert.deepEqual(await offered.allTextContents(), ["16 KiB"]);
    assert.ok((await page.locator("#curves .series").count()) > 0);
    const marks = await page.locator("#curves .mark text").allTextContents();
    assert.ok(marks.length > 0 && marks.every((mark) => mark.startsWith("mark:")));
    assert.deepEqual(await violations(page), []);
  },
);

test(
  "memory over time has the samples",
  { skip: !compared.includes("compare-memory") },
  async () => {
    const page = await open("compare-memory");
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
  },
);

/** Opens a page with one record of `compare` that is changed. */
const changed = (name, change) => openChanged(name, ([comparison]) => change(comparison));

test(
  "a policy whose memory was used up is compared with no other",
  { skip: !compared.includes("compare-memory") },
  async () => {
    // The policy with the fewest walk cycles ends early instead.
    const { results } = json("compare-memory");
    const first = results.toSorted((one, other) => one.walk_cycles - other.walk_cycles)[0];
    const page = await changed("compare-memory", ({ results }) => {
      const cell = results.find((one) => one.policy === first.policy);
      Object.assign(cell, { out_of_memory_after: 1000, walk_cycles: 1 });
    });
    const row = page.locator(`#matrix tr[data-policy="${first.policy}"]`);
    assert.match(await row.locator("th").innerText(), /memory used up after 1,000 accesses/);
    assert.equal(await row.locator(".is-best").count(), 0);
    assert.equal(await row.locator('[data-metric="saved"]').innerText(), "–");
    assert.ok((await page.locator("#matrix .is-best").count()) > 0);
  },
);

test(
  "run times have columns that sort: the class by its size, ranges by their middle",
  { skip: !compared.includes("compare-memory") },
  async () => {
    const classes = ["some", "none", "large", "none", "some"];
    const ranges = [3, 1, 0.25, 2, 1.5].map((low) => ({ low, middle: low + 1, high: low + 7 }));
    let results;
    const page = await changed("compare-memory", (comparison) => {
      results = comparison.results;
      results.forEach((result, at) => {
        const { low, middle, high } = ranges[at];
        result.run_time = {
          class: classes[at],
          ratio_low: low,
          ratio: middle,
          ratio_high: high,
          basis: "measured",
          user_seconds: ranges[4 - at],
          // One policy has no system time.
          system_seconds: at === 2 ? undefined : ranges[at],
          fault_seconds: { saved: at + 0.5, paid: at + 0.25 },
        };
      });
    });
    assert.equal(results.length, 5);
    const cells = await cellsOf(page);
    await page.check("#matrix .check input");
    const table = rows(await saved(page, "matrix", "csv"));
    assert.equal(checkRunTimes(await cellsOf(page), table, results), 34);
    const known = catalogue();
    const timed = Object.keys(table[0]).filter((name) => /run_time|seconds/.test(name));
    assert.equal(timed.length, 13);
    for (const name of timed) assert.ok(known.has(name), name);
    for (const name of ["run_time_basis", "fault_seconds_saved", "zeroing_seconds_paid"]) {
      assert.equal(await page.getAttribute(`[data-sort="${name}"]`, "title"), known.get(name));
    }
    await page.uncheck("#matrix .check input");
    assert.ok(cells.some(({ metric }) => metric === "run_time_class"), "at first sight");
    const column = async (metric) =>
      (await cellsOf(page)).filter((cell) => cell.metric === metric).map(({ value }) => value);
    const sort = async (metric) => {
      await page.focus(`#matrix [data-sort="${metric}"]`);
      await page.keyboard.press("Enter");
      return column(metric);
    };
    const rising = ["none", "none", "some", "some", "large"];
    assert.deepEqual(await sort("run_time_class"), rising);
    assert.deepEqual(await sort("run_time_class"), rising.toReversed());
    assert.deepEqual(await sort("run_time_ratio"), ["1.25", "2", "2.5", "3", "4"]);
    assert.deepEqual(await sort("run_time_user_seconds"), ["1.25", "2", "2.5", "3", "4"]);
    const missing = [undefined];
    assert.deepEqual(await sort("run_time_system_seconds"), ["2", "2.5", "3", "4", ...missing]);
    assert.deepEqual(await sort("run_time_system_seconds"), ["4", "3", "2.5", "2", ...missing]);
    const shown = page.locator('#matrix [data-metric="run_time_user_seconds"]').first();
    assert.match(await shown.innerText(), / to .* s$/);
  },
);

for (const name of compared) {
  test(`${name}: the key figures are those of the JSON`, async () => {
    const page = await open(name);
    const { trace, results, advice } = json(name);
    const beside = recordsOf(name).find((one) => one.schema === "broadleaf.references/1");
    const references = beside?.results ?? [];
    const shown = await tiles(page);
    assert.equal(shown.accesses, trace.accesses);
    assert.equal(shown["memory touched"], trace.pages * 4096);
    const on = (policy) =>
      [...results, ...references].find(
        (one) => one.policy === policy && one.machine === results[0].machine,
      );
    const cycles = (one) =>
      one.walk_cycles + (one.fault_cycles ?? 0) + (one.bookkeeping_cycles ?? 0);
    const base = on("4k");
    const unit = base.fault_cycles === undefined ? "walk cycles" : "cycles of walks and faults";
    assert.equal(shown[`${unit} with 4k`], cycles(base));
    const choice = on(advice[0].policy);
    if (choice.policy !== "4k") {
      assert.equal(shown[`with ${choice.policy}`], cycles(choice));
      assert.equal(shown.saved, 1 - cycles(choice) / cycles(base));
      const added = choice.peak_resident_pages - base.peak_resident_pages;
      assert.equal(shown["added memory"], added * (base.base_page_bytes ?? 4096));
    }
  });
}
