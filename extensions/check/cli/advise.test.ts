import "../../../test/loopback.ts";
import "../../../test/clocked-engine.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { wholeContext } from "../../../src/core/whole-context.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { addEnvironments } from "../../../src/environments/registry.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { clock, startClock } from "../../../test/clocked-engine.ts";
import { lettersEnvironment } from "../../../test/letters.ts";
import { writeTinyModel } from "../../../test/tiny-model.ts";
import { type AdviseFlags, adviseCommand } from "./advise.ts";

beforeEach(startClock);
const letters = lettersEnvironment();
const tool = { name: "cut", description: "Cuts.", parameters: { type: "object", properties: {} }, execute: () => "" } as const;
const worlds: Readonly<Record<string, Partial<Environment>>> = {
  letters,
  tooled: { start: async (task, seed) => ({ ...(await letters.start(task as never, seed)), tools: [tool] }) },
};
addEnvironments(
  Object.fromEntries(Object.entries(worlds).map(([name, world]) => [name, () => ({ ...letters, ...world, name }) as never])),
);

const folder = mkdtempSync(join(tmpdir(), "retrograde-advise-"));
afterAll(() => rmSync(folder, { recursive: true }));
const model = join(folder, "model");
await writeTinyModel(model);
const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const quiet = { gflops: 400, provider: "cpu", load: undefined };

async function advise(agent: readonly string[], flags: AdviseFlags & { readonly model?: string }, environment?: string) {
  let out = "";
  const set = ["rollout.tasksPerStep=4", "rollout.groupSize=4", "steps=10", ...(flags.set ?? [])];
  const named = environment === undefined ? [] : [`environment.name=${environment}`];
  const given = { ...flags, set: ["engine.kind=clocked", ...set, ...named] };
  await adviseCommand(agent, given, createScreen({ write: (part: string) => (out += part), columns: 120 }), async () => quiet);
  return { out, lines: out.trimEnd().split("\n"), json: flags.json === true ? JSON.parse(out) : undefined };
}

const evaluated = ["evaluation.tasks=30", "evaluation.k=2"];
const easy = [
  "16 episodes, at temperature 1, before any training",
  "  success                                        100.0 %  [79.4, 100.0]",
  "  signal   0 of 4 groups of attempts at one task have different rewards",
  "  length            4 sampled tokens an episode, the longest context 12",
  "  time                                  35 s a step, 9 min 50 s the run",
];
const solved = ["user       a", "assistant  b", "user       a", "assistant  b", "reward 1, 2 turns, ended: done"];
const harder = "Next: nearly every attempt succeeds already. Take harder tasks.";

test("a model is played, and what it can learn, what fits and what is next is said", async () => {
  const { lines } = await advise([], { model, memory: "0.1", set: evaluated }, "letters");
  expect(lines).toEqual([
    ...[`Playing "letters" with ${model}, for at most 5 minutes`, ...easy, ""],
    ...["No published model that is listed here can be trained in 0.10 GiB.", ""],
    ...["An episode that it solves (cost/0/0)", ...solved, "", harder],
  ]);
  expect(clock.purposes).toEqual([{ use: expect.objectContaining({ training: false, concurrency: 32 }), seed: 1 }]);
  expect(clock.disposed).toBe(1);
  // 4 tasks of 4 rollouts, of two answers each.
  expect(clock.asked).toHaveLength(32);
});

test("an answer without a limit has one of 512 tokens in the trial, which is said", async () => {
  const open = await advise([], { model, memory: "0.1", set: [`rollout.maxTokens=${wholeContext}`] }, "letters");
  expect(open.lines[1]).toBe("Answers have at most 512 tokens here; a run may give them more (rollout.maxTokens)");
  expect(clock.asked[0].maxTokens).toBeLessThanOrEqual(512);
});

test("calls are counted where there are tools", async () => {
  const set = ["rollout.hiddenTools=allow"];
  const { lines } = await advise([], { model, memory: "0.1", set }, "tooled");
  expect(lines.find((line) => line.startsWith("  calls"))).toMatch(/^ {2}calls +none: no tool was called$/);
  expect(lines.join(" ")).toContain("Next: it does not call the tools in a form that can be read");
});

test("as JSON it is the facts alone", async () => {
  const { json } = await advise([], { model, memory: "1.45", hours: "2", json: true, set: evaluated }, "letters");
  expect(json).toMatchObject({
    model: { folder: model, parameters: expect.any(Number) },
    chances: { verdict: "too-easy", episodes: 16, successes: 16, groups: 4, withSignal: 0, longest: 12, calls: 0 },
    cost: { samplingPerStep: 32, trainingPerStep: 3, whole: 590 },
    ...{ memoryBytes: 1.45 * 2 ** 30, seconds: 7200, holes: [] },
  });
  // What a step took beyond this small model's products is time that no model changes.
  for (const { seconds } of json.fitting) expect(seconds).toBeGreaterThan(350);
});

test("a model is closed where playing it fails", async () => {
  clock.says = () => {
    throw new Error("broken");
  };
  await expect(advise([], { model, memory: "0.1" }, "letters")).rejects.toThrow("broken");
  expect(clock.disposed).toBe(1);
});

const agent = file(
  "agent.mjs",
  `export default async (prompt, { baseUrl, apiKey }) => {
    const headers = { "content-type": "application/json", authorization: "Bearer " + apiKey };
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }] });
    const response = await fetch(baseUrl + "/chat/completions", { method: "POST", headers, body });
    return JSON.parse(await response.text()).choices?.[0].message.content;
  };`,
);
const reward = file("reward.mjs", "export default ({ task, answer }) => Number(answer === task.answer);");
const tasks = file("tasks.jsonl", ["a", "b", "c"].map((prompt) => `{"prompt":"${prompt}","answer":"bab"}\n`).join(""));
const hole = '! A policy that says "bab" solves 3 of 3 tasks, such as "a". That is the floor: only more than it is learned.';

test("without a model those that can be trained are listed by a guess, and nothing is played", async () => {
  const flags = { tasks, reward, memory: "3.5", hours: "1e6" };
  const { lines, out } = await advise([agent], flags);
  expect(out.replaceAll(/\s+/g, " ")).toContain(
    "Published models that can be trained in 3.5 GiB, at 512 tokens. The run: 10 steps, a rough guess from this machine's 400 GFLOP/s (cpu); --model NAME measures it",
  );
  expect(lines.find((line) => line.startsWith("  smollm2 "))).toMatch(/ 135 M .* by demonstrations +Apache-2\.0$/);
  expect(lines).toContain(hole);
  expect(lines.join(" ")).toMatch(/Next: play a few episodes with one: npx retrograde-rl advise \S+agent\.mjs --tasks/);
  const { json } = await advise([agent], { ...flags, json: true });
  expect(json).toMatchObject({
    ...{ memoryBytes: 3.5 * 2 ** 30, gflops: 400, provider: "cpu", holes: [hole.slice(2)] },
    next: expect.stringContaining("Next: play a few episodes with one: npx retrograde-rl advise"),
  });
  expect(Object.keys(json)).toEqual(["memoryBytes", "gflops", "provider", "fitting", "holes", "next"]);
  const none = await advise([], { memory: "0.1" }, "letters");
  expect(none.lines).toEqual([
    ...["No published model that is listed here can be trained in 0.10 GiB.", ""],
    "Next: a machine with more memory, or a model on a cluster (docs/tinker.md).",
  ]);
  expect(clock.asked).toEqual([]);
});

test("the engine's own settings of memory count", async () => {
  const bytes = async (gib: number) => {
    const set = ["engine.kind=local", `engine.sampling.cacheGib=${gib}`];
    const { json } = await advise([], { memory: "16", json: true, set }, "letters");
    return json.fitting.find(({ name }: { name: string }) => name === "smollm2").bytes;
  };
  // A sampler's cache counts where it is more than what training takes.
  expect(await bytes(3)).toBeGreaterThan(await bytes(1));
});

test("an agent is checked, then played", async () => {
  const { lines, out } = await advise([agent], { tasks, reward, model, memory: "0.1" });
  expect(lines[0]).toBe(`Playing "agent" with ${model}, for at most 5 minutes`);
  expect(lines).toContain(hole);
  // It shows no tools, so none is counted.
  expect(out).not.toContain("  calls");
  expect(lines.join(" ")).toContain("Next: no attempt succeeds, so nothing can be learned. Take a stronger model on a cluster;");
  expect(out.replaceAll(/\s+/g, " ")).toMatch(/train-agent \S+agent\.mjs --tasks \S+ --reward \S+ --model \S+ --teacher/);
});

test.each([
  [{ memory: "0" }, /^--memory is/],
  [{ hours: "none" }, /^--hours is "none"/],
])("%j is refused", async (flags, message) => {
  await expect(advise([], { model, ...flags }, "letters")).rejects.toThrow(message);
});
