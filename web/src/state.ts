// What the page's figures share: colours of policies, and the policy that the reader points at.

/** Colours of Okabe and Ito (2008), which colour-blind readers tell apart. CSS has their values. */
const COLOURS = 8;

const places = new Map<string, number>();

/** Gives policies their colours, in order. The first ones have colours of their own. */
export function assignColours(policies: string[]): void {
  for (const policy of policies) {
    if (!places.has(policy)) places.set(policy, places.size);
  }
}

/** The colour of a policy. */
export function colour(policy: string): string {
  const place = places.get(policy) ?? 0;
  return `var(--series-${(place % COLOURS) + 1})`;
}

/** The dashes of a policy's line: policies that share a colour differ in dashes. */
export function dashes(policy: string): string | undefined {
  const place = places.get(policy) ?? 0;
  return [undefined, "6 3", "2 3", "9 3 2 3"][Math.floor(place / COLOURS) % 4];
}

/** Marks everything of a policy on the page, or nothing. */
export function highlight(policy: string | null): void {
  document.body.classList.toggle("has-highlight", policy !== null);
  for (const element of document.querySelectorAll("[data-policy]")) {
    element.classList.toggle("is-highlighted", element.getAttribute("data-policy") === policy);
  }
}
