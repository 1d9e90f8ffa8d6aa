import type { Diagnosis } from "../../../src/environments/environment.ts";
import { walls } from "./walls.ts";

/** The walls of the operating system around the Python tool. The first wall, WebAssembly's, holds everywhere. */
export function diagnoseSandbox(all = walls()): Diagnosis {
  const text = all.map(({ name, holds, text }) => `${name}: ${holds ? text : `missing, ${text}`}`).join("; ");
  const sandbox = { name: "Python sandbox", text };
  if (all.every(({ holds }) => holds)) return { ...sandbox, state: "good" };
  const advice = all.some(({ holds }) => holds)
    ? "docs/tools.md says what each wall is for."
    : "Environments with the Python tool start only with --allow-unwalled-python.";
  return { ...sandbox, state: "doubtful", advice };
}
