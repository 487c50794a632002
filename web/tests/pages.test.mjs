// The pages of the other commands: every figure equals the JSON.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PAGES, json, names, recordsOf, rows, saved, tiles, violations } from "./browser.mjs";
import { open, openChanged, read } from "./tab.mjs";

const all = PAGES ? names() : [];
const only = (name) => ({ skip: !all.includes(name) });

/** The words of a text, without marks and cases. */
const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}%]+/u).filter(Boolean);

/** Checks the head of a page: sentences, run time, and commands with their purposes. */
async function checkAnswer(page, { sentence, run_time, page_faults, commands }) {
  const texts = (selector) =>
    page.$$eval(selector, (all) => all.map((one) => one.textContent));
  const said = await texts(".answer h1, .answer .rest");
  assert.deepEqual(wordsOf(said.join(" ")), wordsOf(sentence));
  const times = await texts(".answer .run-time");
  assert.deepEqual(wordsOf(times.join(" ")), wordsOf(run_time ?? ""));
  assert.deepEqual(await texts(".answer .page-faults"), page_faults ? [page_faults] : []);
  assert.deepEqual(
    await texts(".answer .next code"),
    commands.map(({ command }) => command).filter((command) => command !== ""),
  );
  assert.deepEqual(
    await texts(".answer .next .purpose"),
    commands.map(({ purpose }) => purpose).filter((purpose) => purpose !== ""),
  );
}

for (const name of all) {
  test(`${name}: the page opens with the answer and the commands`, async () => {
    const page = await open(name);
    const own = recordsOf(name).find((one) => one.schema === "broadleaf.answer/1");
    assert.equal(own === undefined, /^(compare|several)/.test(name));
    if (name === "several") {
      const { comparisons } = json(name);
      for (const [at, { advice }] of comparisons.entries()) {
        await page.selectOption(".controls.trace select", String(at));
        await checkAnswer(page, advice[0]);
        const others = await page.textContent(".others");
        for (const other of comparisons.filter((_, place) => place !== at)) {
          const { sentence, run_time, page_faults } = other.advice[0];
          for (const said of [sentence, run_time, page_faults].filter(Boolean)) {
            assert.ok(others.includes(said), `${other.trace.path}: ${said}`);
          }
        }
      }
    } else if (own === undefined) {
      const [first, ...others] = json(name).advice;
      await checkAnswer(page, first);
      for (const { machine, sentence, run_time, page_faults } of others) {
        const there = page.locator(".others dt", { hasText: machine });
        const shown = await there.locator("xpath=following-sibling::dd[1]").textContent();
        assert.equal(shown, [sentence, run_time, page_faults].filter(Boolean).join(" "), machine);
      }
    } else {
      await checkAnswer(page, name === "advise" ? json(name).advice : own);
      // JSON has the same sentence and commands.
      if (!["advise", "paper"].includes(name)) assert.deepEqual(json(name).answer, own);
    }
  });
}

test("every answer has its page faults", { skip: !all.includes("compare-machines") }, async () => {
  const sentences = ["Page faults: the first.", "Page faults: the second."];
  const page = await openChanged("compare-machines", ([comparison]) => {
    sentences.forEach((sentence, at) => (comparison.advice[at].page_faults = sentence));
  });
  assert.equal(await page.textContent(".answer .page-faults"), sentences[0]);
  assert.ok((await page.textContent(".others dd")).endsWith(sentences[1]));
});

// The JSON of these commands is the first record of the page.
for (const name of all.filter((one) => one !== "paper" && !one.startsWith("compare"))) {
  test(`${name}: the page holds the JSON of the command`, () => {
    const [held] = recordsOf(name);
    const without = ({ provenance, ...rest }) => rest;
    assert.deepEqual(without(held), without(json(name)));
  });
}

test("advise: the table has the ranges", only("advise"), async () => {
  const page = await open("advise");
  const { ranges } = json("advise");
  const table = rows(await saved(page, "ranges", "csv"));
  assert.equal(table.length, ranges.length);
  table.forEach((line, at) => {
    for (const field of ["cycles_gained", "walks_spared", "walk_cycles_spared", "added_bytes"]) {
      assert.equal(Number(line[field]), ranges[at][field], field);
    }
  });
});

test("replay: the table has the policies", only("replay"), async () => {
  const page = await open("replay");
  const { policies } = json("replay");
  const table = rows(await saved(page, "policies", "csv"));
  assert.equal(table.length, policies.length);
  table.forEach((line, at) => {
    for (const field of ["promotions", "demotions", "huge_bytes_peak", "added_bytes_peak"]) {
      assert.equal(Number(line[field]), policies[at][field], field);
    }
  });
});

for (const name of ["report", "heat", "run", "attach"]) {
  test(`${name}: the figures are those of the processes`, only(name), async () => {
    const page = await open(name);
    const live = json(name);
    const { processes } = live;
    const shown = await tiles(page);
    const sum = (field) => processes.reduce((all, process) => all + process[field], 0);
    if (live.policy === undefined) {
      assert.equal(shown["resident memory"], sum("rss_bytes"));
      assert.equal(shown["in huge pages"], sum("huge_bytes"));
    } else {
      assert.equal(shown.promoted, live.promotions);
      assert.equal(shown.demoted, live.demotions);
      assert.equal(shown["demoted by the program"], live.broken_by_programs);
      assert.equal(shown["in huge pages at most"], live.huge_bytes_peak);
      assert.equal(shown["memory added at most"], live.added_bytes_peak);
      assert.equal(shown.governor, live.governor_cpu_seconds);
      assert.equal(shown.elapsed, live.elapsed_seconds);
    }
    const forecasts = processes.flatMap((process) => process.policies);
    if (await page.locator("#forecasts").count()) {
      const table = rows(await saved(page, "forecasts", "csv"));
      const fields = ["would_promote", "covered_bytes", "added_bytes"];
      const wanted = forecasts.map((one) => fields.map((field) => one[field]));
      const lines = table.map((line) => fields.map((field) => Number(line[field])));
      assert.deepEqual(lines, wanted);
    } else assert.equal(forecasts.length, 0);
    if (await page.locator("#population").count()) {
      const table = rows(await saved(page, "population", "csv"));
      const bars = processes.flatMap((process) => process.population_histogram);
      const all = table.reduce((sum, line) => sum + Number(line.value), 0);
      assert.equal(all, bars.reduce((sum, bar) => sum + bar.blocks, 0));
    }
  });
}

test("heat: the table has the used memory", only("heat"), async () => {
  const page = await open("heat");
  const [{ heat }] = json("heat").processes;
  const table = rows(await saved(page, "heat", "csv"));
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const blocks = heat.blocks.length > 0;
  const [resident, used] = blocks
    ? ["resident_pages", "used_pages"].map((field) => heat.blocks.map((one) => 4096 * one[field]))
    : ["resident_bytes", "used_bytes"].map((field) => heat.mappings.map((one) => one[field]));
  assert.equal(sum(table.map((line) => Number(line.resident_bytes))), sum(resident));
  assert.equal(sum(table.map((line) => Number(line.used_bytes))), sum(used));
  // Each range has the blocks that begin in it.
  for (const line of blocks ? table : []) {
    const start = Number(line.start);
    const own = heat.blocks.filter(
      ({ address }) => address >= start && address < start + Number(line.bytes),
    );
    assert.equal(Number(line.used_bytes), 4096 * sum(own.map((one) => one.used_pages)));
    assert.equal(Number(line.bytes), own.length * (2 << 20));
  }
  const lead = await page.textContent("#heat .lead");
  assert.ok(lead.includes(heat.source) && lead.includes(heat.source_sentence), lead);
  assert.ok((await page.textContent("#heat h2")).includes(`${heat.seconds.toFixed(1)} s`));
});

/** The ways of a program in turns, as the page names them. */
const waysOf = (report) => [
  ["4 KiB pages", report.base_pages],
  ["as the system is set", report.without],
  [report.policy, report.with],
  ["all huge pages", report.huge_pages],
];

test("baseline: the figures are those of every run", only("baseline"), async () => {
  const page = await open("baseline");
  const ways = waysOf(json("baseline"));
  const runs = ways.flatMap(([way, runs]) => runs.map((run, at) => ({ way, round: at + 1, run })));
  const table = rows(await saved(page, "runs", "csv"));
  assert.equal(table.length, runs.length);
  table.forEach(({ way, round, version, ...line }, at) => {
    assert.equal(version, json("baseline").provenance.version);
    assert.deepEqual([way, Number(round)], [runs[at].way, runs[at].round]);
    for (const [field, value] of Object.entries(line)) {
      assert.equal(value, String(runs[at].run[field] ?? ""), field);
    }
  });
  const bars = rows(await saved(page, "times", "csv"));
  assert.deepEqual(
    bars.map((bar) => Number(bar.value)),
    runs.flatMap(({ run }) => [run.user_seconds, run.system_seconds]),
  );
  const shown = await tiles(page);
  for (const [way, runs] of ways) {
    const times = runs.map((run) => run.user_seconds).sort((one, other) => one - other);
    const middle = (times[(times.length - 1) >> 1] + times[times.length >> 1]) / 2;
    assert.ok(Math.abs(parseFloat(shown[`user time, ${way}`]) - middle) < 1e-9, way);
  }
});

test("paper: each claim has its verdict, and each table its rows", only("paper"), async () => {
  const page = await open("paper");
  const [paper] = recordsOf("paper");
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
});

test("several: figures of traces that were shown before are dropped", only("several"), async () => {
  const page = await open("several");
  const select = ".controls.trace select";
  const places = await page.$$eval(`${select} option`, (all) => all.map(({ value }) => value));
  for (const place of [...places, ...places, "0"]) await page.selectOption(select, place);
  // Observers of sizes run with the next frames.
  await page.waitForTimeout(200);
  const [gone, there] = await page.evaluate(() => {
    const { get } = Object.getOwnPropertyDescriptor(Node.prototype, "isConnected");
    const asked = [0, 0];
    Object.defineProperty(Node.prototype, "isConnected", {
      configurable: true,
      get() {
        const isThere = get.call(this);
        if (this.className === "canvas") asked[Number(isThere)] += 1;
        return isThere;
      },
    });
    dispatchEvent(new Event("beforeprint"));
    dispatchEvent(new Event("afterprint"));
    return asked;
  });
  assert.ok(there > 0);
  assert.equal(gone, 0);
});

test("several: the means, and each trace in turn", only("several"), async () => {
  const page = await open("several");
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
    await page.selectOption(".controls.trace select", String(at));
    const shown = rows(await saved(page, "matrix", "csv"));
    const cycles = comparison.results.map((cell) => String(cell.walk_cycles));
    assert.ok(shown.length > 0);
    for (const line of shown) assert.ok(cycles.includes(line.walk_cycles), line.walk_cycles);
    assert.equal(shown[0].trace, comparison.trace.path);
    assert.deepEqual(await violations(page), []);
  }
});

test("a table is an SVG file with its texts", only("replay"), async () => {
  const page = await open("replay");
  const { policies } = json("replay");
  const svg = await saved(page, "policies", "svg");
  assert.match(svg, /^<\?xml[^>]*>\s*<svg xmlns/);
  for (const { policy } of policies) assert.ok(svg.includes(policy), policy);
});
