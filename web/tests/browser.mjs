// A browser for tests, and what every page must keep.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** The folder of pages to test, each beside the JSON of the same command. */
export const PAGES = process.env.BROADLEAF_PAGES;
/** The folder of screenshots. */
const SHOTS = process.env.BROADLEAF_SCREENSHOTS;

/** Starts Chromium, by the name that Debian or others give it. */
export async function browser() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(":");
  const found = names.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  const executablePath = process.env.CHROMIUM ?? found.find((file) => fs.existsSync(file));
  // A sandbox cannot be made as root or in most containers.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/**
 * Opens a tab. `wrong` lists the exceptions of its pages and the addresses that they load, and
 * `said` the errors that the browser prints.
 */
export async function newTab(browser, { width = 1280, scheme = "light" } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    reducedMotion: "reduce",
    acceptDownloads: true,
  });
  const page = await context.newPage();
  const [wrong, said] = [[], []];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => message.type() === "error" && said.push(message.text()));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) wrong.push(`loads ${request.url()}`);
  });
  return { page, wrong, said };
}

/** Shows a page in a tab. It must not load anything, and must not fail. */
export async function visit({ page, wrong, said }, name) {
  await page.goto(pathToFileURL(path.join(PAGES, `${name}.html`)).href);
  await page.waitForSelector("html[data-drawn] main h1");
  assert.deepEqual([...wrong, ...said], [], `${name} at ${page.viewportSize().width}`);
}

/** Opens a page in a tab of its own. */
export async function open(browser, name, { width = 1280, scheme = "light" } = {}) {
  const tab = await newTab(browser, { width, scheme });
  await visit(tab, name);
  return tab.page;
}

/** Keeps a picture of a page. */
export async function shoot(page, name) {
  if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}.png`), fullPage: true });
}

/** Runs axe: its violations, in words. Only these leave the browser, since its results are long. */
export async function violations(page) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.addScriptTag({ path: AXE });
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => {
      const some = nodes.slice(0, 3).map((node) => node.html.slice(0, 160));
      return `${id}: ${some.join(" | ")}`;
    });
  });
}

/** The JSON that the command printed beside the page. */
export function json(name) {
  return JSON.parse(fs.readFileSync(path.join(PAGES, `${name}.json`), "utf8"));
}

/** The records that a page holds. */
export function recordsOf(name) {
  const html = fs.readFileSync(path.join(PAGES, `${name}.html`), "utf8");
  return JSON.parse(/<script id="broadleaf-records"[^>]*>([^]*?)<\/script>/.exec(html)[1]);
}

/** The names of all pages of the folder. */
export function names() {
  const files = fs.readdirSync(PAGES).filter((file) => file.endsWith(".html"));
  return files.map((file) => path.basename(file, ".html")).sort();
}

/** Saves a figure's file and returns its text. */
export async function saved(page, figure, kind) {
  const waiting = page.waitForEvent("download");
  await page.click(`#${figure} [data-export="${kind}"]`);
  return fs.readFileSync(await (await waiting).path(), "utf8");
}

/** The texts of the files of every figure that offers some, without saving them. */
export function files(page) {
  return page.evaluate(async () => {
    const { createObjectURL } = URL;
    const { click } = HTMLAnchorElement.prototype;
    const made = [];
    let blob;
    URL.createObjectURL = (given) => {
      blob = given;
      return "blob:none";
    };
    HTMLAnchorElement.prototype.click = () => {};
    for (const button of document.querySelectorAll(".figure [data-export]:enabled")) {
      button.click();
      const figure = button.closest(".figure").id;
      made.push({ figure, kind: button.dataset.export, text: await blob.text() });
    }
    Object.assign(URL, { createObjectURL });
    HTMLAnchorElement.prototype.click = click;
    return made;
  });
}

/** Changes the records of a page, and opens the changed page. `change` gets all records. */
export async function changed(name, change, open) {
  const written = fs.readFileSync(path.join(PAGES, `${name}.html`), "utf8");
  const edited = written.replace(
    /(<script id="broadleaf-records" type="application\/json">)([^]*?)(<\/script>)/,
    (_, begin, records, end) => {
      const all = JSON.parse(records);
      change(all);
      return begin + JSON.stringify(all).replaceAll("<", "\\u003c") + end;
    },
  );
  assert.notEqual(edited, written);
  const file = path.join(PAGES, `${name}-changed.html`);
  fs.writeFileSync(file, edited);
  try {
    return await open(`${name}-changed`);
  } finally {
    fs.rmSync(file);
  }
}

/** The key figures of a page, by name: their exact numbers, or their words. */
export async function tiles(page) {
  const all = await page.$$eval(".tiles > div", (tiles) =>
    tiles.map((tile) => {
      const figure = tile.querySelector("dd");
      const value = figure.dataset.value;
      const shown = value === undefined ? figure.textContent : Number(value);
      return [tile.querySelector("dt").textContent, shown];
    }),
  );
  return Object.fromEntries(all);
}

/** The rows of a CSV text, as objects. No cell has a line break. */
export function rows(text) {
  const cells = (line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) =>
      quoted === undefined ? plain : quoted.replaceAll('""', '"'),
    );
  const [head, ...lines] = text.trim().split("\n");
  const fields = cells(head);
  const row = (line) => Object.fromEntries(cells(line).map((cell, i) => [fields[i], cell]));
  return lines.map(row);
}
