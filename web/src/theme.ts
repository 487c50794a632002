// Light or dark: as the system says, until the reader chooses.

import { h } from "./dom";

const NAMES = ["auto", "light", "dark"] as const;
type Theme = (typeof NAMES)[number];

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** The remembered choice. A file that is opened from a disk may have no memory. */
function remembered(): Theme {
  try {
    const theme = localStorage.getItem("broadleaf-theme");
    return NAMES.find((name) => name === theme) ?? "auto";
  } catch {
    return "auto";
  }
}

/** A button that goes through the themes. */
export function themeButton(): HTMLElement {
  let theme = remembered();
  const text = (): string => ({ auto: "Auto", light: "Light", dark: "Dark" })[theme];
  const button = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        theme = NAMES[(NAMES.indexOf(theme) + 1) % NAMES.length] ?? "auto";
        apply(theme);
        button.textContent = text();
        button.setAttribute("aria-label", `Colours: ${text()}`);
        try {
          localStorage.setItem("broadleaf-theme", theme);
        } catch {
          // The choice then holds until the page is closed.
        }
      },
      "aria-label": `Colours: ${text()}`,
    },
    text(),
  );
  apply(theme);
  return button;
}
