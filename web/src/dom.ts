// Elements of HTML and SVG, made from plain values.

type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, props: Props, children: Child[]): E {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false)
      element.append(String(child));
  }
}

/** An element of HTML. Functions become listeners: `onclick` listens to `click`. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), props, children);
}

/** An element of SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], props, children);
}

/** A labelled list of choices. `pick` gets the chosen value. */
export function choice(
  label: string,
  options: { value: string; text: string; group?: string }[],
  chosen: string,
  pick: (value: string) => void,
): HTMLElement {
  const groups = new Map<string, HTMLElement>();
  const select = h("select", { onchange: () => pick(select.value) });
  for (const { value, text, group } of options) {
    const option = h("option", { value, selected: value === chosen }, text);
    if (group === undefined) {
      select.append(option);
      continue;
    }
    let there = groups.get(group);
    if (!there) {
      there = h("optgroup", { label: group });
      groups.set(group, there);
      select.append(there);
    }
    there.append(option);
  }
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

let ids = 0;

/** A name for an element that no other element of the page has. */
export function unique(prefix: string): string {
  ids += 1;
  return `${prefix}-${ids}`;
}
