// Files that the reader saves.

/** Properties that a drawing takes from the page's style sheet. A file holds them itself. */
const DRAWN = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "paint-order",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "letter-spacing",
];

/** Saves a text as a file. */
export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `broadleaf-${name}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const SVG = "http://www.w3.org/2000/svg";

function part(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/** The height of a line of a legend, and the width of a letter, in pixels. */
const LINE = 20;
const LETTER = 7.2;

/** The legend of a figure below its drawing: the dots and names that are shown beside it. */
function legend(figure: Element, width: number, top: number): { group: SVGElement; end: number } {
  const items = figure.querySelectorAll(".key li, .legend label:has(input:checked)");
  const ink = getComputedStyle(document.body).color;
  const group = part("g", { "font-size": 12, "font-family": "system-ui, sans-serif" });
  let [x, y] = [0, top + LINE / 2];
  for (const item of items) {
    const dot = item.querySelector(".dot");
    const name = item.textContent?.trim() ?? "";
    if (!dot) continue;
    const room = 16 + name.length * LETTER + 18;
    if (x > 0 && x + room > width) [x, y] = [0, y + LINE];
    const fill = getComputedStyle(dot).backgroundColor;
    group.append(
      part("rect", { x, y: y - 9, width: 10, height: 10, rx: 3, fill }),
      part("text", { x: x + 16, y, fill: ink }, name),
    );
    x += room;
  }
  return { group, end: group.childElementCount > 0 ? y + LINE / 2 : top };
}

/** A drawing as a file of its own, with its legend and its origin, in the colours that are seen. */
export function svgText(
  drawing: SVGSVGElement,
  [title, source]: [title: string, source: string],
  figure: Element,
): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const from = [drawing, ...drawing.querySelectorAll<SVGElement>("*")];
  const to = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  from.forEach((element, place) => {
    const style = getComputedStyle(element);
    const target = to[place];
    if (!target) return;
    for (const name of DRAWN) {
      const value = style.getPropertyValue(name);
      if (value && value !== "none" && value !== "auto") target.setAttribute(name, value);
    }
    for (const name of [...target.getAttributeNames()]) {
      if (/^(class|style|tabindex|data-.*|aria-.*|role)$/.test(name)) target.removeAttribute(name);
    }
  });
  const { width, height } = drawing.viewBox.baseVal;
  const { group, end } = legend(figure, width, height);
  copy.append(group);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(end));
  copy.setAttribute("viewBox", `0 0 ${width} ${end}`);
  const fill = getComputedStyle(document.body).backgroundColor;
  copy.prepend(
    part("title", {}, title),
    part("desc", {}, source),
    part("rect", { width: "100%", height: "100%", fill }),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}
