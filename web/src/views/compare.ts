// The page of `compare`.

import { answerSection, tiles, type Answer, type SuggestedCommand } from "../answer";
import { h } from "../dom";
import { curvesFigure } from "../figures/curves";
import { frontierFigure } from "../figures/frontier";
import { icicleFigure } from "../figures/icicle";
import { mapFigures } from "../figures/map";
import { matrixFigure } from "../figures/matrix";
import { memoryFigure } from "../figures/memory";
import { refusalsFigure } from "../figures/refusals";
import { counted, grouped, percent, short, size } from "../format";
import { addedBytes, BASELINE, cyclesName, distinct, lostCycles, onMachine, saved } from "../gain";
import { provenanceSection } from "../provenance";
import type { Advice, AnyRecord, Cell, Comparison, Metric, RunTime } from "../records";
import { assignColours } from "../state";

/** What the page knows beside the comparison. */
export interface Beside {
  /** Results of policies that nobody asked for, which others are compared with. */
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

/** The class of a gain as a badge. A sentence beside it says more. */
function runTimeBadge(runTime: RunTime | null | undefined, hasSentence: boolean): Answer["badge"] {
  if (!runTime || typeof runTime !== "object") return undefined;
  const words = {
    none: "no gain in run time",
    some: "some gain in run time",
    large: "a large gain in run time",
  };
  const basis = runTime.basis === "measured" ? "measured" : "estimated from a table";
  const range = `${runTime.ratio_low.toFixed(2)} to ${runTime.ratio_high.toFixed(2)} times`;
  const text = hasSentence ? words[runTime.class] : `${words[runTime.class]}: ${range}, ${basis}`;
  return { text, kind: runTime.class };
}

function commandsOf(advice: Advice | undefined, comparison: Comparison): SuggestedCommand[] {
  const given = advice?.commands;
  if (Array.isArray(given) && given.length > 0) return given as SuggestedCommand[];
  const trace = comparison.trace.path;
  const commands: SuggestedCommand[] = [];
  if (advice && advice.policy !== BASELINE) {
    commands.push({
      purpose: `Run your program with ${advice.policy}`,
      command: `broadleaf run --policy '${advice.policy}' -- COMMAND`,
    });
  }
  if (trace.endsWith(".bl")) {
    commands.push({
      purpose: "Find the memory that is worth huge pages",
      command: `broadleaf advise ${trace}`,
    });
  }
  return commands;
}

function answerOf(comparison: Comparison): Answer {
  const { advice, results, trace } = comparison;
  const machines = distinct(results, "machine");
  const first = advice[0];
  const cell = results.find(
    (one) => one.policy === first?.policy && one.machine === first?.machine,
  );
  const others = advice.slice(1);
  const about = `${trace.path || "a trace"} on ${first?.machine ?? machines.join(", ")}`;
  if (!first) {
    const policies = distinct(results, "policy");
    return {
      about,
      sentences:
        `${policies.length === 1 ? "1 policy" : `${policies.length} policies`} ` +
        `on ${counted(machines.length, "machine")}, compared.`,
      commands: commandsOf(undefined, comparison),
    };
  }
  const sentence = typeof first.run_time === "string" ? first.run_time : undefined;
  return {
    about,
    sentences: first.sentence,
    // The badge has the class already.
    runTime: sentence?.replace(/^Run time: [^.]*\. /, ""),
    badge: runTimeBadge(cell?.run_time, sentence !== undefined),
    commands: commandsOf(first, comparison),
    more:
      others.length > 0
        ? [
            h(
              "details",
              { class: "others", open: others.length <= 2 },
              h("summary", {}, "The answer on the other machines"),
              h(
                "dl",
                {},
                others.map(({ machine, sentence }) => [
                  h("dt", {}, machine),
                  h("dd", {}, sentence),
                ]),
              ),
            ),
          ]
        : [],
  };
}

function tilesOf(comparison: Comparison, baseline: Cell | undefined): HTMLElement {
  const { trace, results, advice } = comparison;
  const chosen = advice[0]?.policy;
  const cell = results.find((one) => one.policy === chosen && one.machine === baseline?.machine);
  const items = [
    { name: "accesses", value: short(trace.accesses), exact: grouped(trace.accesses) },
    {
      name: "memory touched",
      value: size(trace.pages * 4096),
      exact: `${grouped(trace.pages)} pages`,
    },
  ];
  if (!baseline) return tiles(items);
  const cycles = lostCycles(baseline);
  items.push({
    name: `${cyclesName(baseline)} with 4k`,
    value: short(cycles),
    exact: grouped(cycles),
  });
  if (cell && cell.policy !== BASELINE) {
    const added = addedBytes(cell, baseline);
    const rest = lostCycles(cell);
    items.push(
      { name: `with ${cell.policy}`, value: short(rest), exact: grouped(rest) },
      { name: "saved", value: percent(saved(cell, baseline)), exact: grouped(cycles - rest) },
      { name: "added memory", value: size(added), exact: `${grouped(added)} bytes` },
    );
  }
  return tiles(items);
}

export function compareView(record: AnyRecord, beside: Beside): Node[] {
  const comparison = record as unknown as Comparison;
  const { results, advice } = comparison;
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
  return [
    answerSection(answerOf(comparison)),
    tilesOf(comparison, usable[0]),
    h(
      "div",
      { class: "figures" },
      figures.filter((figure): figure is Node => figure instanceof Node),
    ),
    provenanceSection({ ...comparison, limits: LIMITS }),
  ];
}
