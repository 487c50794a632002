// Maps of memory over time: every figure equals the JSON.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PAGES, json, names, rows, saved } from "./browser.mjs";
import { open, openChanged, read } from "./tab.mjs";

/** Pages whose JSON has maps. */
const mapped = PAGES
  ? names().filter((name) => /^(compare|advise)/.test(name) && (json(name).maps ?? []).length > 0)
  : [];

const sum = (values) => values.reduce((all, value) => all + value, 0);
const inRows = (map) => map.mappings.flatMap((mapping) => mapping.rows);

/** The state of a row at the end of a bin. */
function stateAt(states, bin) {
  return states.filter(([from]) => from <= bin).at(-1) ?? [bin, 0, 0, 0];
}

test("there are pages with maps", { skip: !PAGES }, () => assert.ok(mapped.length > 0));

for (const name of mapped) {
  const result = json(name);

  test(`${name}: maps add up to the results`, () => {
    for (const map of result.maps) {
      const cell = result.results.find((one) => one.policy === map.policy);
      const all = sum(inRows(map).flatMap((row) => row.walk_cycles));
      assert.equal(map.walk_tree.walk_cycles, all);
      // Forked processes share memory in the replay of a map alone, and a sentence says so.
      const differs = map.folded.some((sentence) => sentence.startsWith("The table has"));
      const forks = new Set(map.mappings.map(({ space }) => space)).size > 1;
      if (!differs && !forks) {
        assert.equal(all, cell.walk_cycles);
        assert.equal(sum(map.mappings.map((one) => one.populated_pages)), cell.resident_pages);
      }
      const check = (node) => {
        const parts = node.parts ?? [];
        if (parts.length === 0) return;
        assert.equal(sum(parts.map((part) => part.walk_cycles)), node.walk_cycles, node.name);
        parts.forEach(check);
      };
      check(map.walk_tree);
    }
  });

  test(`${name}: the map has the figures of the JSON`, async () => {
    const page = await read(name);
    for (const map of result.maps) {
      if (result.maps.length > 1) await page.selectOption("#map select", map.policy);
      const all = page.locator("#map .check input");
      if (await all.count()) await all.check();
      const shown = await page.$$eval("#map .map-row", (cells) =>
        cells.map((cell) => Number(cell.dataset.cycles)),
      );
      const wanted = inRows(map).map((row) => sum(row.walk_cycles));
      assert.deepEqual(shown, wanted);
      const table = rows(await saved(page, "map", "csv"));
      assert.equal(table.length, wanted.length * map.bins);
      inRows(map).forEach((row, number) => {
        for (let bin = 0; bin < map.bins; bin += 1) {
          const line = table[number * map.bins + bin];
          assert.equal(Number(line.walk_cycles), row.walk_cycles[bin] ?? 0);
          const [, populated, promoted, wasted] = stateAt(row.states, bin);
          assert.equal(Number(line.populated_pages), populated);
          assert.equal(Number(line.promoted_pages), promoted);
          assert.equal(Number(line.wasted_pages), wasted);
        }
      });
    }
    assert.match(await saved(page, "map", "svg"), /^<\?xml[^]*<svg [^]*walk cycles[^]*<path /);
  });

  test(`${name}: a block has its decisions`, async () => {
    const page = await open(name);
    const [map] = result.maps;
    // A browser lets a page save a few files.
    for (const [at, block] of map.blocks.slice(0, 12).entries()) {
      await page.selectOption("#block select", `${block.space}-${block.start}`);
      const listed = await page.$$eval("#block .history li[data-decision]", (all) =>
        all.map((item) => [item.dataset.decision, Number(item.dataset.count)]),
      );
      assert.deepEqual(
        listed,
        block.history.map(({ decision, count }) => [decision, count]),
      );
      if (at >= 3) continue;
      const table = rows(await saved(page, "block", "csv"));
      assert.deepEqual(
        table.map((line) => Number(line.time)),
        block.history.map(({ time }) => time),
      );
    }
  });

  test(`${name}: arrow keys move between rows, and Enter shows a block`, async () => {
    const page = await read(name);
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-row"));
    await page.focus("#map .map-row[tabindex='0']");
    await page.keyboard.press("Home");
    const first = await focused();
    await page.keyboard.press("ArrowDown");
    assert.notEqual(await focused(), first);
    await page.keyboard.press("Enter");
    assert.equal(
      await page.getAttribute("#map .map-row[aria-pressed='true']", "data-row"),
      await focused(),
    );
  });

  test(`${name}: a row without a kept block shows no block`, async () => {
    const page = await openChanged(name, ([record]) => {
      for (const map of record.maps) map.blocks = [];
    });
    await page.focus("#map .map-row[tabindex='0']");
    await page.keyboard.press("Enter");
    assert.match(await page.textContent("#block .block-name"), /^No block of the row at 0x/);
    assert.equal(await page.locator("#block .history li").count(), 0);
  });

  test(`${name}: walks by part are those of the JSON, and a part is shown larger`, async () => {
    const page = await read(name);
    const map = result.maps.find((one) => one.policy === "4k") ?? result.maps[0];
    if (await page.locator("#icicle select").count()) {
      await page.selectOption("#icicle select", map.policy);
    }
    const flat = (node) => [node, ...(node.parts ?? []).flatMap(flat)];
    const table = rows(await saved(page, "icicle", "csv"));
    const sorted = (values) => [...values].sort((one, other) => one - other);
    assert.deepEqual(
      sorted(table.map((line) => Number(line.walk_cycles))),
      sorted(flat(map.walk_tree).map((node) => node.walk_cycles)),
    );
    const width = () =>
      page.$eval("#icicle .part.depth-1 rect", (rect) => Number(rect.getAttribute("width")));
    const before = await width();
    await page.focus("#icicle .part.depth-1");
    await page.keyboard.press("Enter");
    assert.ok((await width()) >= before);
    const [part] = map.walk_tree.parts;
    const zoomed = await page.getAttribute("#icicle .part[data-focus]", "data-cycles");
    assert.equal(Number(zoomed), part.walk_cycles);
  });
}
