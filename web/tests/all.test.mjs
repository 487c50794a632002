// What holds for every page: no violation of accessibility, no overflow, nothing loaded, quick.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { PAGES, files, names, rows, shoot, violations } from "./browser.mjs";
import { open, resized } from "./tab.mjs";

/** With BROADLEAF_DEEP, axe and pictures see each combination in a page that was opened in it. */
const DEEP = Boolean(process.env.BROADLEAF_DEEP);

/** The widths in pixels and the colours of each page, and those that axe and a picture see. */
const COMBINATIONS = [
  { width: 1280, scheme: "light", isSeen: true },
  { width: 400, scheme: "light", isSeen: DEEP },
  { width: 1280, scheme: "dark", isSeen: DEEP },
  { width: 2560, scheme: "dark", isSeen: DEEP },
  { width: 400, scheme: "dark", isSeen: true },
];

/** Checks what does not depend on the width and the colours. */
async function checkOnce(t, page, name) {
  await t.test("the page is small and opens at once", async () => {
    const bytes = fs.statSync(path.join(PAGES, `${name}.html`)).size;
    assert.ok(bytes < 2_000_000, `${bytes} bytes`);
    const drawn = await page.evaluate(
      () => performance.getEntriesByName("broadleaf-drawn")[0].startTime,
    );
    // A busy machine may take longer than the second that a reader waits.
    assert.ok(drawn < 5000, `${drawn} ms`);
    console.log(`${name}: ${bytes} bytes, drawn after ${Math.round(drawn)} ms`);
  });

  await t.test("each figure is an SVG and a CSV", async () => {
    const figures = await page.$$eval(".figure", (all) => all.map((figure) => figure.id));
    assert.equal(new Set(figures).size, figures.length, "figures have names of their own");
    const made = await files(page);
    for (const figure of figures) {
      for (const kind of ["svg", "csv"]) {
        const button = page.locator(`#${figure} [data-export="${kind}"]`);
        assert.equal(await button.count(), 1, `${figure} ${kind}`);
        // The difference has files once another result is open.
        assert.equal(await button.isDisabled(), figure === "difference", `${figure} ${kind}`);
      }
      if (figure === "difference") continue;
      const [svg, csv] = ["svg", "csv"].map(
        (kind) => made.find((file) => file.figure === figure && file.kind === kind).text,
      );
      assert.ok(rows(csv).length > 0, figure);
      assert.doesNotMatch(svg, /var\(|light-dark|NaN/, figure);
      const { texts, fault } = await page.evaluate((svg) => {
        const read = new DOMParser().parseFromString(svg, "image/svg+xml");
        const texts = [...read.querySelectorAll("text")].map((text) => text.textContent);
        return { texts, fault: read.querySelector("parsererror")?.textContent };
      }, svg);
      assert.equal(fault, undefined, figure);
      assert.ok(texts.length > 1, figure);
      // A table's file has the numbers that the page shows.
      const shown = await page.$$eval(`#${figure} > .scroll td.number`, (cells) =>
        cells.filter((cell) => cell.children.length === 0).map((cell) => cell.textContent),
      );
      for (const text of shown) assert.ok(texts.includes(text), `${figure}: ${text}`);
      // A drawing's file has the legend that the page shows beside it.
      const names = await page.$$eval(`#${figure} .key li`, (items) =>
        items.map((item) => item.textContent),
      );
      for (const text of names) assert.ok(texts.includes(text), `${figure}: ${text}`);
    }
  });

  await t.test("the page can be used from the keyboard", async () => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.className), "skip");
    await page.evaluate(() => document.activeElement.blur());
  });
}

/** The width of A4 paper between margins of 12 mm, in pixels of 96 to an inch. */
const A4 = Math.floor(((210 - 2 * 12) / 25.4) * 96);

/** Nothing is cut off on paper, and no column is missing. */
async function checkPaper(t, page, name) {
  const all = page.locator('.figure .check input[type="checkbox"]:visible');
  for (let place = 0; place < (await all.count()); place += 1) await all.nth(place).check();
  const heads = () =>
    page.$$eval(".figure > .scroll", (tables) =>
      tables.map((table) => {
        const shown = [...table.querySelectorAll("thead th")].filter((head) => head.offsetWidth);
        return [...new Set(shown.map((head) => head.textContent))].sort();
      }),
    );
  const onScreen = await heads();
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: A4, height: 1040 });
  await page.waitForTimeout(50);
  if (DEEP) await shoot(page, `${name}-paper`);
  await t.test("no table, drawing or command is wider than the paper", async () => {
    const wide = await page.evaluate((width) => {
      const inside = [...document.querySelectorAll("table, svg.chart, pre, .history, .controls")];
      const scrolls = (one) => {
        const { overflowX, overflowY } = getComputedStyle(one);
        const isCut = one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight;
        return /auto|scroll|hidden/.test(overflowX + overflowY) && isCut;
      };
      const cut = inside.filter((one) => {
        const { left, right } = one.getBoundingClientRect();
        if (right === left) return false;
        return right > width + 1 || scrolls(one) || scrolls(one.parentElement);
      });
      return cut.map((one) => one.outerHTML.slice(0, 120));
    }, A4);
    assert.deepEqual(wide, []);
    assert.deepEqual(await heads(), onScreen);
  });
  const parts = await page.locator(".part-on-paper").count();
  await t.test("the screen has its tables again", async () => {
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize({ width: 1280, height: 900 });
    assert.deepEqual(await heads(), onScreen);
    assert.equal(await page.locator(".part-on-paper").count(), 0);
  });
  await t.test("a PDF file has the same parts of tables", async () => {
    await page.evaluate(() =>
      addEventListener("beforeprint", () => {
        globalThis.printed = document.querySelectorAll(".part-on-paper").length;
      }),
    );
    assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
    assert.equal(await page.evaluate(() => globalThis.printed), parts);
  });
}

for (const name of PAGES ? names() : []) {
  test(`${name} in each width, in light and dark, and on paper`, async (t) => {
    const page = await open(name);
    for (const [at, { width, scheme, isSeen }] of COMBINATIONS.entries()) {
      if (at > 0) await (DEEP ? open(name, { width, scheme }) : resized(page, width, scheme));
      // Before axe adds its script, and before a key moves the focus.
      if (isSeen) await shoot(page, `${name}-${width}-${scheme}`);
      await t.test(`nothing is cut off at ${width} pixels, ${scheme}`, async () => {
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - innerWidth,
        );
        assert.ok(overflow <= 0, `${overflow} pixels too wide`);
        if (isSeen) assert.deepEqual(await violations(page), []);
      });
    }
    await resized(page, 1280, "light");
    await checkOnce(t, page, name);
    await checkPaper(t, page, name);
  });
}
