// A table as a drawing of its own, for slides and papers.

/** A cell of a table: its text, and whether it is a number. */
export interface DrawnCell {
  text: string;
  number: boolean;
}

const FONT = 13;
/** The average width of a letter, as a share of the font's size. */
const LETTER = 0.6;
const LINE = 24;
const GAP = 20;
const MARGIN = 16;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The rows as SVG, in these colours. The first row has the heads. */
export function tableSvg(
  title: string,
  rows: DrawnCell[][],
  colours: { text: string; paper: string },
): string {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) => {
    const letters = Math.max(0, ...rows.map((row) => row[column]?.text.length ?? 0));
    return Math.ceil(letters * FONT * LETTER);
  });
  const starts = widths.map((_, column) =>
    widths.slice(0, column).reduce((sum, width) => sum + width + GAP, MARGIN),
  );
  const width = (starts.at(-1) ?? MARGIN) + (widths.at(-1) ?? 0) + MARGIN;
  const height = 2 * MARGIN + LINE * (rows.length + 1);
  const lines: string[] = [];
  const text = (x: number, y: number, content: string, more: string): void => {
    lines.push(`<text x="${x}" y="${y}"${more}>${escaped(content)}</text>`);
  };
  text(MARGIN, MARGIN + FONT, title, ' font-weight="600"');
  rows.forEach((row, place) => {
    const y = MARGIN + LINE * (place + 1) + FONT;
    row.forEach((cell, column) => {
      const start = starts[column] ?? 0;
      const x = cell.number ? start + (widths[column] ?? 0) : start;
      const anchor = cell.number ? ' text-anchor="end"' : "";
      text(x, y, cell.text, place === 0 ? `${anchor} font-weight="600"` : anchor);
    });
    if (place === 0) {
      const under = y + 7;
      lines.push(
        `<line x1="${MARGIN}" x2="${width - MARGIN}" y1="${under}" y2="${under}" ` +
          `stroke="${colours.text}" stroke-opacity="0.4"/>`,
      );
    }
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="${FONT}" ` +
      `fill="${colours.text}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="${colours.paper}"/>`,
    ...lines,
    "</svg>\n",
  ].join("\n");
}
