import "../../install.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../../entries/program.ts";
import type { Trajectory, Turn } from "../../../src/core/trajectory.ts";
import { createRun, writeStep } from "../../../src/runs/write.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";

const turn = (entropies: readonly number[], toolCalls: number): Turn => ({
  ...{
    trajectory: "a",
    turn: 0,
    context: [1],
    action: entropies.map(() => 1),
    samplerLogprobs: entropies.map(() => -1),
    entropies,
  },
  ...{ weightVersion: 0, truncated: false, rewritten: false, toolCalls, invalidToolCalls: 0 },
});
const trajectory: Trajectory = {
  ...{ id: "a", group: "g", task: "t", turns: [turn([1, 0.5], 1), turn([0.25, 0.75], 0)] },
  ...{ reward: 0, scores: {}, stopReason: "done", messages: [] },
};
const timing = {
  ...{ rolloutSeconds: 1, updateSeconds: 1, sampledTokens: 1, sampledTokensPerSecond: 1, trainedTokens: 1 },
  ...{ trainedTokensPerSecond: 1, denseTokens: 1, rssMb: 1 },
};

async function invoke(...args: readonly string[]) {
  const text = { out: "", error: "" };
  const write = (to: keyof typeof text) => ({ write: (part: string) => (text[to] += part) });
  return { exitCode: await main(["runs", "entropy", ...args], write("out"), write("error")), ...text };
}

test("entropy around tool results is averaged over all steps of a run, as text, JSON and picture", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-entropy-")), "run");
  createRun(folder, resolveConfig());
  expect(await invoke(folder)).toMatchObject({ exitCode: 1, error: expect.stringContaining("at least one step") });
  // Once the second action is cut to its first token.
  const cut = { ...trajectory, turns: [turn([1, 0.5], 1), turn([0.25], 0)] };
  for (const step of [1, 2, 3]) writeStep(folder, { step, metrics: {} }, { step, ...timing }, [step === 3 ? cut : trajectory]);

  const { out } = await invoke(folder);
  expect(out.split("\n")).toEqual([
    "around            times  before  after  the first tokens after it",
    "the first action      3       –   0.75                         █▁",
    // (3 · 0.25 + 2 · 0.75) / 5
    "a tool result         3    0.75   0.45                         ▁█",
    ...["Mean entropy of an action token in nats, of up to 10 tokens before and 20 after.", ""],
  ]);
  const svg = join(folder, "plots", "entropy.svg");
  const { out: json } = await invoke(folder, "--json", "--svg", svg);
  expect(JSON.parse(json).tool).toEqual([
    { offset: -2, mean: 1, count: 3 },
    { offset: -1, mean: 0.5, count: 3 },
    { offset: 0, mean: 0.25, count: 3 },
    { offset: 1, mean: 0.75, count: 2 },
  ]);
  expect(readFileSync(svg, "utf8")).toMatch(/^<svg[\s\S]*around a tool result[\s\S]*<\/svg>\n$/);
  expect(await invoke(join(folder, "nowhere"))).toMatchObject({ exitCode: 1, error: expect.stringContaining("no run") });
});
