// A box with the details of what the pointer or the keyboard is on.

import { h } from "./dom";
import { highlight } from "./state";

let box: HTMLElement | undefined;

function hide(): void {
  box?.classList.remove("is-shown");
  highlight(null);
}

function show(target: Element, x: number, y: number): void {
  box ??= document.body.appendChild(h("div", { class: "tip", role: "presentation" }));
  const lines = (target.getAttribute("data-tip") ?? "").split("\n");
  box.replaceChildren(
    h("strong", {}, lines[0]),
    ...lines.slice(1).map((line) => h("span", {}, line)),
  );
  box.classList.add("is-shown");
  const width = box.offsetWidth;
  const height = box.offsetHeight;
  const left = Math.max(8, Math.min(x + 14, innerWidth - width - 8));
  const above = y + 18 + height > innerHeight;
  box.style.left = `${left}px`;
  box.style.top = `${above ? Math.max(8, y - height - 14) : y + 18}px`;
  highlight(target.getAttribute("data-policy"));
}

/** Shows the text of `data-tip` for elements that have one: its first line is a heading. */
export function showTips(): void {
  const of = (event: Event): Element | null =>
    event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  document.addEventListener("pointermove", (event) => {
    const target = of(event);
    if (target) show(target, event.clientX, event.clientY);
    else if (box?.classList.contains("is-shown")) hide();
  });
  document.addEventListener("focusin", (event) => {
    const target = of(event);
    if (!target) return hide();
    const { right, bottom } = target.getBoundingClientRect();
    show(target, right, bottom);
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("scroll", hide, { passive: true });
}
