import "../extensions/install.ts";
import { expect, test } from "vitest";
import { invoke } from "./command-line.ts";

test("a demonstration that does not exist is refused by name, before anything is fetched", async () => {
  for (const [wrong, named] of [
    [["demo", "llama"], 'demo is "llama"; expected "smollm2"'],
    [["demo", "smollm2", "--task", "chess"], '--task is "chess"; expected "calculation" or "calculator"'],
    [["demo", "smollm2", "--seed", "one"], '--seed is "one"; expected a whole number'],
  ] as const) {
    const { exitCode, error } = await invoke(...wrong);
    expect(exitCode).not.toBe(0);
    expect(error).toContain(named);
  }
});
