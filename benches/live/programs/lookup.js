// A heap like that of JavaScript servers: a map with strings of many sizes, garbage, and large
// arrays. Prints "ready". Then, for each line with a count, it makes that many random updates and
// prints the nanoseconds of processor time that they took.
"use strict";
const fs = require("fs");

const WORDS = 48 << 20;
const KEYS = 300_000;
const table = new Map();
let sink;
for (let i = 0; i < KEYS; i++) {
  table.set(i, { text: "x".repeat(16 + ((i * 7919) % 600)) + i, count: i });
  if (i % 3 === 0) {
    table.delete(i >> 1);
    sink = new Array(500).fill(i);
  }
}
const array = new Float64Array(WORDS);
for (let i = 0; i < WORDS; i++) array[i] = i;

let state = 1;
function updates(count) {
  for (let i = 0; i < count; i++) {
    // A generator of 32 bits, by multiplication.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    array[state % WORDS]++;
    if (i % 64 === 0) {
      const value = table.get(state % KEYS);
      if (value) value.count++;
    }
  }
}

updates(3_000_000);
fs.writeSync(1, "ready\n");
const buffer = Buffer.alloc(100);
for (;;) {
  const read = fs.readSync(0, buffer);
  if (read === 0) break;
  const count = parseInt(buffer.toString("utf8", 0, read), 10);
  const began = process.cpuUsage();
  updates(count);
  const spent = process.cpuUsage(began);
  fs.writeSync(1, `${(spent.user + spent.system) * 1000}\n`);
}
