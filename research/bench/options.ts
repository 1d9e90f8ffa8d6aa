import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";

/** Reads an option as a whole number from 1. */
export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("Expected a whole number from 1.");
  return value;
}

/** Bytes of memory of this process, as Linux counts them: "VmRSS", or "VmHWM" for its peak. */
export function processMemory(field: string): number {
  return 1024 * Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}
