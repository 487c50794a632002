// Numbers for people, written as the command writes them.

/** All digits in groups of three: `1,234,567`. */
export function grouped(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

function scaled(value: number, step: number, prefixes: string[], space: string): string {
  const sign = value < 0 ? "-" : "";
  let rest = Math.abs(value);
  let prefix = 0;
  if (rest < step) {
    const text = Number.isInteger(rest) ? `${rest}` : rest.toFixed(rest < 9.995 ? 2 : 1);
    return `${sign}${text}${space}${prefixes[0]}`;
  }
  // Rounding to three digits must not print the next step itself ("1000k").
  while (rest >= step - 0.5 && prefix + 1 < prefixes.length) {
    rest /= step;
    prefix += 1;
  }
  const decimals = rest < 9.995 ? 2 : rest < 99.95 ? 1 : 0;
  return `${sign}${rest.toFixed(decimals)}${space}${prefixes[prefix]}`;
}

/** Three digits and a decimal prefix: `999`, `1.23k`, `45.6M`. */
export function short(value: number): string {
  return scaled(value, 1000, ["", "k", "M", "G", "T", "P", "E"], "");
}

/** A size with a binary prefix: `4.00 KiB`. */
export function size(bytes: number): string {
  return scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], " ");
}

/** A size without decimals that are zero: `4 KiB`, `2 MiB`. */
export function roundSize(bytes: number): string {
  return size(bytes).replace(/\.0+(?= )/, "");
}

/** A share of one as a percentage: `12.3%`. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "-";
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.05) return value < 0 ? ">-0.1%" : "<0.1%";
  return Math.abs(value) >= 999.5 ? `${value.toFixed(0)}%` : `${value.toFixed(1)}%`;
}

/** A name of a field in words: `walk_cycles` is `walk cycles`. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** A count and its noun: `1 trace`, `2 traces`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}
