// Gains of policies over base pages, by the definitions of the command's tables.

import type { Cell } from "./records";

/** The policy without huge pages, with which all others are compared. */
export const BASELINE = "4k";

const PAGE = 4096;

/** The peak of memory, in bytes. */
export function peakBytes(cell: Cell): number {
  return cell.peak_resident_pages * (cell.base_page_bytes ?? PAGE);
}

/** Cycles of walks, and of faults and bookkeeping where they have a cost. */
export function lostCycles(cell: Cell): number {
  return cell.walk_cycles + (cell.fault_cycles ?? 0) + (cell.bookkeeping_cycles ?? 0);
}

/** The name of these cycles. */
export function cyclesName(cell: Cell): string {
  return cell.fault_cycles === undefined ? "walk cycles" : "cycles of walks and faults";
}

/** The share of the baseline's cycles that a policy saves. */
export function saved(cell: Cell, baseline: Cell): number {
  const all = lostCycles(baseline);
  return all === 0 ? 0 : 1 - lostCycles(cell) / all;
}

/** The memory that a policy adds, in bytes. */
export function addedBytes(cell: Cell, baseline: Cell): number {
  return peakBytes(cell) - peakBytes(baseline);
}

/** The results of one machine. */
export function onMachine(cells: Cell[], machine: string): Cell[] {
  return cells.filter((cell) => cell.machine === machine);
}

/** The names of a field in the order of their first use. */
export function distinct(cells: Cell[], field: "policy" | "machine"): string[] {
  return [...new Set(cells.map((cell) => cell[field]))];
}

/** Results that no other result beats in both gain and memory, by rising memory. */
export function frontier(cells: Cell[], baseline: Cell): Cell[] {
  const order = [...cells].sort(
    (one, other) =>
      addedBytes(one, baseline) - addedBytes(other, baseline) ||
      lostCycles(one) - lostCycles(other),
  );
  let least = Infinity;
  return order.filter((cell) => {
    const better = lostCycles(cell) < least;
    if (better) least = lostCycles(cell);
    return better;
  });
}
