// Opens a page three times, and measures the time until the page is drawn.
//
// Usage: open.mjs FOLDER NAME REFERENCES
//   The folder has NAME.html, and NAME.json beside it: the comparison of at least REFERENCES.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

const [, , folder, name, references] = process.argv;
process.env.BROADLEAF_PAGES = folder;
const { browser, json, open } = await import("../../../web/tests/browser.mjs");

/** The page's most bytes, and the most milliseconds until it is drawn. */
const BYTES = 2_000_000;
const TIME = 1000;

const { trace, results } = json(name);
assert.ok(trace.accesses >= Number(references), `${trace.accesses} references are too few`);
const bytes = fs.statSync(path.join(folder, `${name}.html`)).size;
console.log(`${trace.accesses} references, a page of ${bytes} bytes`);
assert.ok(bytes < BYTES, `${bytes} bytes`);

for (let round = 1; round <= 3; round += 1) {
  // Each time in a browser of its own, which has nothing in its caches.
  const chromium = await browser();
  const page = await open(chromium, name);
  const drawn = await page.evaluate(
    () => performance.getEntriesByName("broadleaf-drawn")[0].startTime,
  );
  const rows = await page.locator("#matrix tbody tr").count();
  const charts = await page.locator("#curves svg.chart, #map svg.chart").count();
  await chromium.close();
  console.log(`round ${round}: drawn after ${Math.round(drawn)} ms`);
  assert.equal(rows, new Set(results.map(({ policy }) => policy)).size);
  assert.equal(charts, 2, "curves and the map are drawn");
  assert.ok(drawn < TIME, `${drawn} ms`);
}
