import { reasonOf } from "../../src/core/errors.ts";
import type { KeptAnswer } from "../../src/core/trajectory.ts";
import { masked } from "./demonstrations.ts";

/** Letters of an answer as JSON, and its nesting: more belongs in a file of the agent's. */
const most = { letters: 65_536, depth: 64 };

/**
 * Returns what an agent's code returned, for the record: a copy of plain JSON, with keys masked. What a reward would read otherwise than the agent
 * gave it is left out, with the reason.
 * @param keys those of the episode
 */
export function keptAnswer(answer: unknown, keys: readonly string[]): KeptAnswer {
  try {
    const left = whyLeft(answer, { letters: most.letters }, most.depth);
    return left === undefined ? { value: masked(answer, keys) } : { left };
  } catch (error) {
    return { left: `reading it raised: ${reasonOf(error)}` }; // a getter of the agent's
  }
}

/** The reason why JSON would not give a value back as it was, or is too long. */
function whyLeft(value: unknown, budget: { letters: number }, depth: number): string | undefined {
  budget.letters -= typeof value === "string" ? value.length + 2 : 4;
  if (budget.letters < 0) return `it is longer than ${most.letters} letters of JSON`;
  if (value === undefined || value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `it has the number ${value}`;
  if (typeof value !== "object") return `it has a ${typeof value}`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
    return `it has an object of the class ${value.constructor?.name ?? "without a name"}`;
  if (depth === 0) return `it is nested deeper than ${most.depth}`;
  for (const [key, inner] of Object.entries(value)) {
    budget.letters -= key.length;
    const left = inner === undefined && Array.isArray(value) ? "a list in it has a gap" : whyLeft(inner, budget, depth - 1);
    if (left !== undefined) return left;
  }
  return undefined;
}
