// What holds for every page: no violation of accessibility, no overflow, nothing loaded, quick.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { PAGES, browser, names, open, shoot, violations } from "./browser.mjs";

let chromium;
before(async () => {
  chromium = await browser();
});
after(() => chromium?.close());

/** Checks what does not depend on the width and the colours. */
async function checkOnce(t, page, name) {
  await t.test("the page is small and opens at once", async () => {
    const bytes = fs.statSync(path.join(PAGES, `${name}.html`)).size;
    assert.ok(bytes < 2_000_000, `${bytes} bytes`);
    const drawn = await page.evaluate(
      () => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd,
    );
    // A busy machine may take longer than the second that a reader waits.
    assert.ok(drawn < 5000, `${drawn} ms`);
    console.log(`${name}: ${bytes} bytes, drawn after ${Math.round(drawn)} ms`);
  });

  await t.test("each figure is an SVG and a CSV", async () => {
    const drawn = await page.$$eval(".figure:has(svg.chart)", (all) =>
      all.map((figure) => figure.id),
    );
    for (const figure of drawn) {
      assert.equal(await page.locator(`#${figure} [data-export="svg"]`).count(), 1, figure);
    }
    const figures = await page.$$eval(".figure", (all) => all.map((figure) => figure.id));
    for (const figure of figures) {
      assert.equal(await page.locator(`#${figure} [data-export="csv"]`).count(), 1, figure);
    }
    assert.equal(new Set(figures).size, figures.length, "figures have names of their own");
  });

  await t.test("the page can be used from the keyboard and printed", async () => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.className), "skip");
    const pdf = await page.pdf();
    assert.ok(pdf.length > 10_000);
  });
}

for (const name of PAGES ? names() : []) {
  for (const [width, scheme] of [
    [1280, "light"],
    [400, "light"],
    [1280, "dark"],
    [2560, "dark"],
  ]) {
    test(`${name} at ${width} pixels, ${scheme}`, async (t) => {
      const page = await open(chromium, name, { width, scheme });
      // Before a key moves the focus.
      await shoot(page, `${name}-${width}-${scheme}`);
      if (width === 1280 && scheme === "light") await checkOnce(t, page, name);
      await t.test("nothing is cut off, and axe finds no fault", async () => {
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - innerWidth,
        );
        assert.ok(overflow <= 0, `${overflow} pixels too wide`);
        assert.deepEqual(await violations(page), []);
      });
      await page.context().close();
    });
  }
}
