// The page of `compare`.

import { answerSection, tiles, timesOf, type Answer, type Tile } from "../answer";
import { h } from "../dom";
import { curvesFigure } from "../figures/curves";
import { frontierFigure } from "../figures/frontier";
import { icicleFigure } from "../figures/icicle";
import { mapFigures } from "../figures/map";
import { matrixFigure } from "../figures/matrix";
import { memoryFigure } from "../figures/memory";
import { refusalsFigure } from "../figures/refusals";
import { counted, percent, short, size } from "../format";
import { addedBytes, BASELINE, cyclesName, distinct, lostCycles, onMachine, saved } from "../gain";
import { from } from "../origin";
import { provenanceSection } from "../provenance";
import type { Advice, AnyRecord, Cell, Comparison, Metric } from "../records";
import { assignColours } from "../state";

/** What the page knows beside the comparison. */
export interface Beside {
  /** Results of policies that the request does not name. Others are compared with them. */
  references: Cell[];
  metrics: Metric[];
  summaries: Map<string, string>;
}

const LIMITS = [
  "Counts of walks, faults and pages are exact for the model. " +
    "Cycles are counts times the machine's table of costs.",
  "Walk cycles are no share of the run time: a processor hides some walks behind other work. " +
    "Only a measurement gives seconds.",
  "Memory accesses made by the kernel are not counted.",
];

/** Answers that follow the first: those for other machines, or for other traces. */
function furtherAnswers(
  title: string,
  answers: { about: string; advice: Advice }[],
): Node[] {
  if (answers.length === 0) return [];
  const lines = answers.map(({ about, advice: { sentence, run_time, page_faults } }) => [
    h("dt", {}, about),
    h("dd", {}, [sentence, run_time, page_faults].filter(Boolean).join(" ")),
  ]);
  return [
    h(
      "details",
      { class: "others", open: answers.length <= 2 },
      h("summary", {}, title),
      h("dl", {}, lines),
    ),
  ];
}

/** The answer of a comparison, with its commands. `others` are comparisons of other traces. */
function answerOf(comparison: Comparison, others: Comparison[]): Answer {
  const { advice, results, trace } = comparison;
  const machines = distinct(results, "machine");
  const [first, ...further] = advice;
  const about = `${trace.path || "a trace"} on ${first?.machine ?? machines.join(", ")}`;
  const traces = others.flatMap(({ advice: [first], trace }) =>
    first ? [{ about: trace.path, advice: first }] : [],
  );
  const more = [
    ...furtherAnswers(
      "The answer on the other machines",
      further.map((advice) => ({ about: advice.machine, advice })),
    ),
    ...furtherAnswers("The answer for the other traces", traces),
  ];
  if (!first) {
    const policies = distinct(results, "policy");
    return {
      about,
      sentences:
        `${policies.length === 1 ? "1 policy" : `${policies.length} policies`} ` +
        `on ${counted(machines.length, "machine")}, compared.`,
      commands: [],
      more,
    };
  }
  const cell = results.find(
    (one) => one.policy === first.policy && one.machine === first.machine,
  );
  return {
    about,
    sentences: first.sentence,
    ...timesOf(first, cell?.run_time),
    commands: first.commands ?? [],
    more,
  };
}

function tilesOf(comparison: Comparison, baseline: Cell | undefined): HTMLElement {
  const { trace, results, advice } = comparison;
  const chosen = advice[0]?.policy;
  const cell = results.find((one) => one.policy === chosen && one.machine === baseline?.machine);
  const items: Tile[] = [
    { name: "accesses", value: trace.accesses, text: short },
    { name: "memory touched", value: trace.pages * 4096, text: size },
  ];
  if (!baseline) return tiles(items);
  const cycles = lostCycles(baseline);
  items.push({ name: `${cyclesName(baseline)} with 4k`, value: cycles, text: short });
  if (cell && cell.policy !== BASELINE) {
    const added = addedBytes(cell, baseline);
    const rest = lostCycles(cell);
    items.push(
      { name: `with ${cell.policy}`, value: rest, text: short },
      { name: "saved", value: saved(cell, baseline), text: percent },
      { name: "added memory", value: added, text: size },
    );
  }
  return tiles(items);
}

/** The parts of the page of a comparison. */
export interface ComparisonParts {
  /** The answer and the key figures. */
  head: Node[];
  figures: Node[];
  origins: Node;
}

/** The page of a comparison. `others` are the comparisons of other traces beside it. */
export function comparisonParts(
  comparison: Comparison,
  beside: Beside,
  others: Comparison[] = [],
): ComparisonParts {
  const { results, advice } = comparison;
  from(comparison);
  assignColours(distinct(results, "policy"));
  const machines = distinct(results, "machine");
  const baselines = machines.flatMap((machine) => {
    const all = [...onMachine(results, machine), ...onMachine(beside.references, machine)];
    return all.find((cell) => cell.policy === BASELINE) ?? [];
  });
  const advised = new Map(advice.map(({ machine, policy }) => [machine, policy]));
  const usable = baselines.filter((cell) => cell.out_of_memory_after === undefined);
  const maps = comparison.maps ?? [];
  const figures: (Node | null | false)[] = [
    matrixFigure(results, usable, advised, beside.metrics, beside.summaries),
    usable.length > 0 && results.length > 1 && frontierFigure(results, usable, advised),
    results.some((cell) => cell.curve) && curvesFigure(results, comparison.machines ?? [], advised),
    results.some((cell) => (cell.over_time?.length ?? 0) > 1) && memoryFigure(results),
    icicleFigure(maps),
    ...mapFigures(maps),
    refusalsFigure(
      onMachine(results, machines[0] ?? ""),
      "How often a policy was asked about a block and left it as it was, by reason.",
    ),
  ];
  return {
    head: [answerSection(answerOf(comparison, others)), tilesOf(comparison, usable[0])],
    figures: figures.filter((figure): figure is Node => figure instanceof Node),
    origins: provenanceSection({ ...comparison, limits: LIMITS }),
  };
}

export function compareView(record: AnyRecord, beside: Beside): Node[] {
  const { head, figures, origins } = comparisonParts(record as unknown as Comparison, beside);
  return [...head, h("div", { class: "figures" }, figures), origins];
}
