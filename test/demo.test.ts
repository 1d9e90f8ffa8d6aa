import "../extensions/install.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { invoke } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-demo-"));
const model = join(folder, "model");
const demo = (...flags: string[]) => invoke("demo", "smollm2", "--model", model, "--threads", "1", "--no-dashboard", ...flags);

test("a demonstration that does not exist is refused by name, before anything is fetched", async () => {
  for (const [wrong, named] of [
    [["demo", "llama"], 'demo is "llama"; expected "smollm2"'],
    [["demo", "smollm2", "--task", "chess"], '--task is "chess"; expected "calculation", "calculator" or "shop"'],
    [["demo", "smollm2", "--seed", "one"], '--seed is "one"; expected a whole number'],
  ] as const) {
    const { exitCode, error } = await invoke(...wrong);
    expect(exitCode).not.toBe(0);
    expect(error).toContain(named);
  }
});
