// Paper: the page before it is printed, and again afterwards.

/** The width of a drawing on paper, in pixels: that of A4 and of Letter, less margins. */
export const PAPER_WIDTH = 690;

/** The type of tables on paper, and the space beside a text, in pixels: 8 pt, twice 3 pt. */
const TYPE = (8 * 4) / 3;
const ROOM = 9;
/** The width of a letter of code, and of the dot or the ends of a tag, in pixels. */
const LETTER = 0.61 * TYPE;
const MARK = 20;
/** A wider text wraps. */
const TEXT = 230;

const changes = new Set<{ before: () => void; after: () => void }>();

/**
 * Calls `before` before the page is printed, and `after` afterwards, until the returned function is
 * called.
 */
export function onPaper(before: () => void, after: () => void): () => void {
  const change = { before, after };
  changes.add(change);
  return () => changes.delete(change);
}

let pen: CanvasRenderingContext2D | null = null;

/** The width of a text in bold type. All digits have the same width. */
function textWidth(text: string): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return text.length * LETTER;
  pen.font = `700 ${TYPE}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text.replace(/\d/g, "0")).width;
}

/** The width that a column takes on paper. Heads wrap between words, and numbers do not wrap. */
function paperWidth(table: HTMLTableElement, column: number): number {
  const widths = [...table.rows].map((row) => {
    const cell = row.cells[column];
    const text = cell?.textContent ?? "";
    if (row.parentElement?.tagName === "THEAD")
      return Math.max(...text.split(" ").map(textWidth));
    if (cell?.classList.contains("number")) return textWidth(text);
    const marks = MARK * (cell?.querySelectorAll(".tag, .dot").length ?? 0);
    return Math.min(Math.max(textWidth(text), text.length * LETTER) + marks, TEXT);
  });
  return Math.max(0, ...widths) + ROOM;
}

/** The columns of parts of a table that fit on paper, each with the first column. */
function partsOf(table: HTMLTableElement): number[][] {
  const count = table.rows[0]?.cells.length ?? 0;
  const first = paperWidth(table, 0);
  const parts: number[][] = [[]];
  let width = first;
  for (let column = 1; column < count; column += 1) {
    const own = paperWidth(table, column);
    if (width + own > PAPER_WIDTH && parts.at(-1)?.length) {
      parts.push([]);
      width = first;
    }
    parts.at(-1)?.push(column);
    width += own;
  }
  return parts;
}

/** A copy of a table with some of its columns, and the first. */
function part(table: HTMLTableElement, columns: number[]): HTMLElement {
  const copy = table.cloneNode(true) as HTMLTableElement;
  for (const row of copy.rows) {
    [...row.cells].forEach((cell, column) => {
      if (column > 0 && !columns.includes(column)) cell.remove();
    });
  }
  copy.classList.add("part-on-paper");
  return copy;
}

/** Puts parts in the place of tables that are too wide for paper. */
function splitTables(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>(".figure > .scroll > table")) {
    const parts = partsOf(table);
    // Otherwise names of policies would break to make room for wide numbers.
    table.style.setProperty("--first", `${Math.floor(paperWidth(table, 0))}px`);
    if (parts.length < 2) continue;
    table.after(...parts.map((columns) => part(table, columns)));
    table.classList.add("off-paper");
  }
}

function joinTables(): void {
  document.querySelectorAll(".part-on-paper").forEach((copy) => copy.remove());
  document.querySelectorAll(".off-paper").forEach((table) => table.classList.remove("off-paper"));
}

/** Opens what is closed, since paper cannot be opened. */
function openDetails(): void {
  for (const details of document.querySelectorAll<HTMLDetailsElement>(".answer details")) {
    if (details.open) continue;
    details.open = true;
    details.dataset["paper"] = "";
  }
}

function closeDetails(): void {
  for (const details of document.querySelectorAll<HTMLDetailsElement>("[data-paper]")) {
    details.open = false;
    delete details.dataset["paper"];
  }
}

/** Prepares the page whenever it is printed. */
export function preparePaper(): void {
  onPaper(splitTables, joinTables);
  onPaper(openDetails, closeDetails);
  let printing = false;
  const change = (now: boolean): void => {
    if (now === printing) return;
    printing = now;
    for (const { before, after } of changes) (now ? before : after)();
  };
  // Browsers differ in which of these they have.
  addEventListener("beforeprint", () => change(true));
  addEventListener("afterprint", () => change(false));
  matchMedia("print").addEventListener("change", ({ matches }) => change(matches));
}
