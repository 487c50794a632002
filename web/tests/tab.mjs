// The one browser tab that all tests share. A page loads in it in a fourth of the time that a new
// browser takes.

import assert from "node:assert/strict";
import { after } from "node:test";
import { browser, changed, newTab, visit } from "./browser.mjs";

/** The tab, from the first use on, and the name of the page in it as long as it is unchanged. */
let tab;
let shown;

after(async () => (await tab)?.page.context().browser().close());

async function started() {
  tab ??= browser().then((chromium) => newTab(chromium));
  return tab;
}

/** Loads a page anew. It must not load anything, and must not fail. */
export async function open(name, { width = 1280, scheme = "light" } = {}) {
  const there = await started();
  const { page, wrong, said } = there;
  const before = wrong.splice(0);
  said.length = 0;
  assert.deepEqual(before, [], `in the checks of ${shown}`);
  await page.emulateMedia({ media: "screen", colorScheme: scheme });
  await page.setViewportSize({ width, height: 900 });
  shown = name;
  await visit(there, name);
  return page;
}

/**
 * Opens a page unless the tab has it already. For tests that only read, or that set all that they
 * depend on.
 */
export async function read(name) {
  return shown === name ? (await started()).page : open(name);
}

/** Opens a page whose records are changed first. `change` gets all records. */
export function openChanged(name, change) {
  return changed(name, change, open);
}

/** Waits until the page has drawn itself in a new width. */
export async function resized(page, width, scheme) {
  await page.emulateMedia({ media: "screen", colorScheme: scheme });
  await page.setViewportSize({ width, height: 900 });
  await page.evaluate(async () => {
    for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
  });
}
