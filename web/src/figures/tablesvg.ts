// A table as a drawing of its own, for slides and papers.

import type { Rows } from "../figure";

/** A cell of a table. */
interface DrawnCell {
  /** Its lines. Texts wrap, numbers do not. */
  lines: string[];
  number: boolean;
  /** The share of the largest value: the length of a bar. */
  share: number;
  /** True if the bar fills the cell. */
  filled: boolean;
  /** The colour of a dot before the text. */
  dot?: string;
}

const FONT = 13;
/** The average width of a letter, as a share of the font's size. */
const LETTER = 0.6;
const LINE = 18;
/** The space above and below the lines of a row. */
const ROOM = 6;
const GAP = 20;
const MARGIN = 16;
/** The width of a dot and the space after it. */
const DOT = 18;
/** The letters of a line of text at most. */
const LETTERS = 56;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Breaks a text between words. A longer word is a line of its own. */
function wrapped(text: string): string[] {
  const lines = [""];
  for (const word of text.split(/\s+/).filter((word) => word !== "")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= LETTERS) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The text of an element, without parts that are hidden from screen readers. */
function textOf(node: Node): string {
  if (!(node instanceof Element)) return node.textContent ?? "";
  if (node.getAttribute("aria-hidden") === "true") return "";
  const parts = [...node.childNodes].map((part) => textOf(part).trim());
  return parts.filter((part) => part !== "").join(" ");
}

/** The cells of a table as the reader sees them. */
function cellsOf(table: HTMLTableElement): DrawnCell[][] {
  return [...table.rows].map((row) =>
    [...row.cells].map((cell) => {
      const number = cell.classList.contains("number");
      const text = textOf(cell);
      const dot = cell.querySelector(".dot");
      return {
        lines: number ? [text] : wrapped(text),
        number,
        share: Number(cell.style.getPropertyValue("--share")) || 0,
        filled: cell.classList.contains("heat"),
        dot: dot ? getComputedStyle(dot).backgroundColor : undefined,
      };
    }),
  );
}

/** The cells of rows of data. */
function cellsOfRows(rows: Rows): DrawnCell[][] {
  const body = rows.slice(1);
  const numbers = (rows[0] ?? []).map((_, column) =>
    body.some((row) => typeof row[column] === "number"),
  );
  return rows.map((row) =>
    row.map((value, column) => {
      const number = numbers[column] ?? false;
      const text = String(value ?? "–");
      return { lines: number ? [text] : wrapped(text), number, share: 0, filled: false };
    }),
  );
}

/** A table of the page, or rows of data, as the text of an SVG file in the page's colours. */
export function tableSvg(
  [title, source]: [title: string, source: string],
  content: HTMLTableElement | Rows,
): string {
  const rows = content instanceof HTMLTableElement ? cellsOf(content) : cellsOfRows(content);
  const { color, backgroundColor } = getComputedStyle(document.body);
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) => {
    const each = rows.map((row) => {
      const cell = row[column];
      const letters = Math.max(0, ...(cell?.lines ?? []).map((line) => line.length));
      return letters * FONT * LETTER + (cell?.dot ? DOT : 0);
    });
    return Math.ceil(Math.max(0, ...each));
  });
  const starts = widths.map((_, column) =>
    widths.slice(0, column).reduce((sum, width) => sum + width + GAP, MARGIN),
  );
  const end = (starts.at(-1) ?? MARGIN) + (widths.at(-1) ?? 0);
  const width = Math.max(end, MARGIN + title.length * FONT * LETTER) + MARGIN;
  const parts: string[] = [];
  const text = (x: number, y: number, content: string, more: string): void => {
    parts.push(`<text x="${x}" y="${y}"${more}>${escaped(content)}</text>`);
  };
  const bar = (x: number, y: number, width: number, height: number): void => {
    parts.push(
      `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" ` +
        `fill-opacity="0.14"/>`,
    );
  };
  text(MARGIN, MARGIN + FONT, title, ' font-weight="600"');
  let top = MARGIN + FONT + 2 * ROOM;
  rows.forEach((row, place) => {
    const height = Math.max(1, ...row.map((cell) => cell.lines.length)) * LINE + ROOM;
    row.forEach((cell, column) => {
      const start = starts[column] ?? 0;
      const room = widths[column] ?? 0;
      if (cell.share > 0) {
        const length = cell.share * room;
        const thick = cell.filled ? height - 2 : 3;
        bar(start + room - length, cell.filled ? top : top + height - 4, length, thick);
      }
      if (cell.dot) {
        const middle = top + ROOM / 2 + LINE / 2;
        parts.push(`<circle cx="${start + 5}" cy="${middle}" r="5" fill="${cell.dot}"/>`);
      }
      const x = cell.number ? start + room : start + (cell.dot ? DOT : 0);
      const weight = place === 0 ? ' font-weight="600"' : "";
      const style = (cell.number ? ' text-anchor="end"' : "") + weight;
      cell.lines.forEach((line, at) => text(x, top + ROOM / 2 + at * LINE + FONT, line, style));
    });
    top += height;
    if (place === 0) {
      parts.push(
        `<line x1="${MARGIN}" x2="${width - MARGIN}" y1="${top}" y2="${top}" ` +
          `stroke="${color}" stroke-opacity="0.4"/>`,
      );
      top += ROOM;
    }
  });
  const height = top + MARGIN;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="${FONT}" ` +
      `fill="${color}">`,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(source)}</desc>`,
    `<rect width="100%" height="100%" fill="${backgroundColor}"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}
