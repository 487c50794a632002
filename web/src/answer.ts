// The head of the page: the answer in a sentence, and the commands to type.

import { h } from "./dom";
import { grouped } from "./format";
import type { Advice, RunTime, SuggestedCommand } from "./records";

export interface Answer {
  /** What the page answers, in a few words above the answer. */
  about: string;
  /** The answer: sentences. The first is the headline. */
  sentences: string;
  /** What follows from it for the run time. */
  runTime?: string;
  /** The system time of page faults saved and huge pages made. */
  pageFaults?: string;
  /** A class of gain, as a badge: none, some or large. */
  badge?: { text: string; kind: string };
  commands: SuggestedCommand[];
  /** Answers for further machines, and reservations. */
  more?: Node[];
}

/** The times of an answer: the class of a gain as a badge, then the sentences that follow. */
export type Times = Pick<Answer, "runTime" | "pageFaults" | "badge">;

/** The times of an advice. `runTime` is that of the recommended policy. */
export function timesOf(advice: Advice, runTime: RunTime | null | undefined): Times {
  const { run_time: sentence, page_faults: faults } = advice;
  const pageFaults = typeof faults === "string" ? { pageFaults: faults } : {};
  if (typeof sentence !== "string") return pageFaults;
  const [, gain, rest] = /^(Run time: [^.]*)\.\s*([^]*)$/.exec(sentence) ?? [];
  if (gain === undefined || !runTime) return { runTime: sentence, ...pageFaults };
  return { runTime: rest, badge: { text: gain, kind: runTime.class }, ...pageFaults };
}

/** Splits sentences: a full stop ends one if a space follows. */
export function sentences(text: string): string[] {
  return text.split(/(?<=[.!?])\s+/).filter((sentence) => sentence !== "");
}

/** The letters that a headline has at most. A longer sentence is split at a colon or comma. */
const HEADLINE = 90;

function headline(text: string): { head: string; rest: string[] } {
  const [first = "", ...rest] = sentences(text);
  if (first.length <= HEADLINE) return { head: first, rest };
  const at = first.search(/[:;] /);
  if (at < 0) return { head: first, rest };
  const tail = first.slice(at + 2);
  return {
    head: `${first.slice(0, at)}.`,
    rest: [`${tail.charAt(0).toUpperCase()}${tail.slice(1)}`, ...rest],
  };
}

/** A command with a button that copies it. */
export function commandLine({ purpose, command }: SuggestedCommand): HTMLElement {
  if (command === "") return h("li", {}, h("span", { class: "purpose" }, purpose));
  const copy = h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": `Copy: ${command}`,
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(command);
          copy.textContent = "Copied";
        } catch {
          getSelection()?.selectAllChildren(code);
          copy.textContent = "Selected";
        }
        setTimeout(() => (copy.textContent = "Copy"), 2000);
      },
    },
    "Copy",
  );
  const code = h("code", {}, command);
  const label = `Command: ${purpose || command}`;
  return h(
    "li",
    {},
    purpose !== "" && h("span", { class: "purpose" }, purpose),
    h(
      "div",
      { class: "command" },
      h("pre", { tabindex: 0, role: "region", "aria-label": label }, code),
      copy,
    ),
  );
}

/** The head of the page. */
export function answerSection(answer: Answer): HTMLElement {
  const { head, rest } = headline(answer.sentences);
  return h(
    "section",
    { class: "answer", "aria-label": "The answer" },
    h(
      "div",
      { class: "words" },
      h("p", { class: "about" }, answer.about),
      h("h1", {}, head),
      rest.length > 0 && h("p", { class: "rest" }, rest.join(" ")),
      (answer.badge || answer.runTime) &&
        h(
          "p",
          { class: "run-time" },
          answer.badge && h("span", { class: `badge ${answer.badge.kind}` }, answer.badge.text),
          " ",
          answer.runTime,
        ),
      answer.pageFaults && h("p", { class: "page-faults" }, answer.pageFaults),
      answer.more,
    ),
    answer.commands.length > 0 &&
      h(
        "div",
        { class: "next" },
        h("h2", {}, "What to type now"),
        h("ul", { class: "commands" }, answer.commands.map(commandLine)),
      ),
  );
}

/** A key figure: a word, or a number and its text. */
export interface Tile {
  name: string;
  value: number | string;
  text?: (value: number) => string;
  note?: string;
}

/** Key figures in a row. */
export function tiles(items: Tile[]): HTMLElement {
  const figure = ({ value, text = grouped, note }: Tile): HTMLElement => {
    const isNumber = typeof value === "number";
    const exact = isNumber && Number.isInteger(value) ? grouped(value) : undefined;
    return h(
      "dd",
      { title: exact, "data-value": isNumber ? value : undefined },
      isNumber ? text(value) : value,
      note !== undefined && h("small", {}, note),
    );
  };
  return h(
    "dl",
    { class: "tiles" },
    items.map((item) => h("div", {}, h("dt", {}, item.name), figure(item))),
  );
}
