import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Group, Turn } from "../../src/core/trajectory.ts";
import { readBatch, rolloutBatch, turnWeights, writeBatch } from "./batch.ts";
import { makeBenchmarks } from "./benchmarks.ts";
import { median, type Result, resultText } from "./measure.ts";
import { denseBatch, quickModel, randomTokens } from "./model.ts";
import { lineSchema, readLines, standing, trialOf, unfinished } from "./mutation/lines.ts";
import { applyMutant, drawMutants, keyOf, type Mutant } from "./mutation/mutants.ts";
import { shapeOf } from "./shapes.ts";
import { isPython } from "./side.ts";
import { prompt, words, wordsEnvironment } from "./words.ts";

test("benchmarks: which sides measure what, and bfloat16 only where the processor multiplies in it", () => {
  const of = (bfloat16: boolean) => makeBenchmarks({ folder: "/f", officeModel: "/o", threads: 3, bfloat16 });
  const [full, adapter, sampling, step] = of(false);
  expect(full).toEqual({
    ...{ name: "smollm2-full", prepare: [{ script: "ours/words-model.ts", args: ["/f/words-135m"] }], requests: [""] },
    ours: { script: "ours/dense.ts", args: ["/f/words-135m", 3, 4, 256] },
    peers: { float32: { script: "peers/dense.py", args: ["/f/words-135m", 3, 4, 256, "float32"] } },
  });
  expect(adapter?.ours.args.at(-1)).toBe("adapter");
  expect(adapter?.peers.float32?.args.slice(-2)).toEqual(["float32", "adapter"]);
  expect(sampling?.requests).toEqual(["1 64 32", "8 64 32", "32 64 32"]);
  expect(Object.keys(sampling?.peers ?? {})).toEqual(["float32", "llama.cpp"]);
  expect(step?.peers).toEqual({
    "TRL float32": { script: "peers/step.py", args: ["/f/words-135m", 3, 2, "static", "float32"] },
  });
  const names = of(false).map(({ name }) => name);
  expect(names.slice(-2)).toEqual(["smollm2-8192", "training-rollouts"]);
  expect(of(false).find(({ name }) => name === "smollm2-8192")?.rounds).toBe(1);
  expect(of(true).map(({ name }) => name)).toEqual([...names.slice(0, 4), "smollm2-step-bfloat16", ...names.slice(4)]);
  expect(Object.keys(of(true)[0]?.peers ?? {})).toEqual(["float32", "bfloat16"]);
  expect(of(true).at(-1)?.peers.bfloat16?.args).toEqual(["/o", 3, "/f/rollouts.json", "bfloat16", 16]);
  expect([isPython({ script: "a.py", args: [] }), isPython({ script: "a.ts", args: [] })]).toEqual([true, false]);
});

test("a result for people: medians with their range, and ratios over each peer", () => {
  const result: Result = {
    ...{ benchmark: "step", request: "8 64", quantity: "tokensPerSecond", ours: [4210.4, 4160, 4360], setAside: 1 },
    peers: [{ name: "PyTorch", values: [12.345], ratio: 2.345 }],
  };
  expect(resultText(result)).toBe(
    "step 8 64 tokensPerSecond: 4,210 (4,160–4,360) (1 rounds set aside)\n    2.35 × 12.3 of PyTorch",
  );
  expect(resultText({ ...result, request: "", peers: [], setAside: 0 })).toBe("step tokensPerSecond: 4,210 (4,160–4,360)");
  expect([median([3]), median([9, 1, 5]), median([4, 1, 3, 2])]).toEqual([3, 5, 2.5]);
});

test("words: 256 of a prompt, the same each time, and the reward is the share of words with an even number", async () => {
  expect([words.length, words[0], words.at(-1)]).toEqual([1022, "w0", "w1021"]);
  expect(prompt(3)).toBe(prompt(3));
  expect(prompt(3)).not.toBe(prompt(4));
  const said = prompt(3).split(" ");
  expect([said.length, said.every((word) => words.includes(word))]).toEqual([256, true]);
  expect(await wordsEnvironment.size("train")).toBe(64);
  const rewardOf = async (answer: string) => {
    const episode = await wordsEnvironment.start(await wordsEnvironment.task("train", 0), 1);
    await episode.reply({ role: "assistant", content: answer });
    return (
      await episode.score([
        { role: "user", content: "" },
        { role: "assistant", content: answer },
      ])
    ).reward;
  };
  expect(await rewardOf("w2 w3 w10 x4 w")).toBeCloseTo(2 / 3, 12);
  expect(await rewardOf("nothing at all")).toBe(0);
});

test("rows of random tokens: the first of each is context, and each row is its own", () => {
  expect(randomTokens(50, 1000, "a").every((token) => Number.isInteger(token) && token >= 0 && token < 50)).toBe(true);
  expect(new Set(randomTokens(5, 200, "a"))).toEqual(new Set([0, 1, 2, 3, 4]));
  const [first, second] = denseBatch(100, 2, 6);
  expect(first).toMatchObject({ trajectory: "0", turn: 0 });
  expect([first?.context.length, first?.action.length]).toEqual([1, 5]);
  expect([...(first?.context ?? []), ...(first?.action ?? [])]).toEqual(randomTokens(100, 6, "row", 0));
  expect(second?.action).not.toEqual(first?.action);
});

test("a quick model has weights of deviation 1/√inputs, norms of 1, and leaves out what is taken over", () => {
  const config = { ...shapeOf("5m"), layers: 1, vocabSize: 64 };
  const taken: string[] = [];
  const { parameters } = quickModel(config, (name) => name.includes("q_proj") && taken.push(name) > 0);
  const [name = ""] = taken;
  expect(parameters.get(name)?.data.length).toBe(0);
  expect(parameters.get(name)?.shape).toEqual([256, 256]);
  const down = [...parameters].find(([each]) => each.includes("down_proj"))?.[1];
  const data = [...(down?.data ?? [])];
  const [mean, square] = [data, data.map((x) => x * x)].map((all) => all.reduce((sum, x) => sum + x, 0) / all.length);
  expect(down?.shape).toEqual([256, 768]);
  expect(Math.abs(mean ?? 1)).toBeLessThan(1e-3);
  expect(Math.sqrt(768 * (square ?? 0))).toBeCloseTo(1, 1);
  const norm = [...parameters].find(([each]) => each.includes("input_layernorm"))?.[1];
  expect(new Set(norm?.data)).toEqual(new Set([1]));
});

const turn = (index: number, context: readonly number[], action: readonly number[]): Turn => ({
  ...{ trajectory: "t", turn: index, context, action, toolCalls: 0, invalidToolCalls: 0 },
  ...{ samplerLogprobs: [], entropies: [], weightVersion: 0, truncated: false, rewritten: false },
});

test("a batch of rollouts is kept with a row for each trajectory; weights differ and none of them is 0", async () => {
  expect(turnWeights({ turn: 2, action: [7, 8] })).toEqual([Math.cos(2), Math.cos(3)]);
  const groups = [{ trajectories: [{ turns: [turn(0, [1], [2])] }, { turns: [turn(0, [3], [4, 5])] }] }] as unknown as Group[];
  const batch = rolloutBatch(groups);
  expect(batch.trajectories).toEqual([
    { tokens: [1, 2], weights: [0, 1] },
    { tokens: [3, 4, 5], weights: [0, 1, Math.cos(1)] },
  ]);
  const file = join(mkdtempSync(join(tmpdir(), "bench-batch-")), "batch.json");
  await writeBatch(file, batch);
  expect(await readBatch(file)).toEqual(batch);
});

const mutant = (replacement: string): Mutant => ({
  ...{ file: "a.ts", kind: "BooleanLiteral", original: "true", replacement },
  location: { start: { line: 1, column: 8 }, end: { line: 1, column: 12 } },
});

test("a mutant is one change of one place, and is refused where the source is another", () => {
  const source = "first\nconst a=true;\nlast";
  expect(applyMutant(source, mutant("false"))).toBe("first\nconst a=false;\nlast");
  expect(() => applyMutant(source.replace("true", "yes!"), mutant("false"))).toThrow(
    "a.ts has changed since the sample was drawn",
  );
  expect(keyOf(mutant("false"))).toBe("a.ts:2:9-2:13 → false");
  const all = Array.from({ length: 10 }, (_, i) => mutant(String(i)));
  const drawn = drawMutants(all, 4, 1);
  expect(new Set(drawn).size).toBe(4);
  expect(drawMutants(all, 4, 1)).toEqual(drawn);
  expect(drawMutants(all, 4, 2)).not.toEqual(drawn);
  expect(drawMutants(all, 99, 1)).toHaveLength(10);
});

test("mutants stand while every test of theirs ended and let them live", () => {
  const trial = (id: string, name: string) => ({ id, file: "a.test.ts", name });
  const lines = [
    { event: "begin", ...trial("1", "x") },
    { event: "end", ...trial("1", "x"), result: "survived", seconds: 2 },
    { event: "end", ...trial("1", "y"), result: "survived", seconds: 3 },
    { event: "end", ...trial("2", "x"), result: "killed", seconds: 1 },
    { event: "end", ...trial("2", "y"), result: "survived", seconds: 1 },
    { event: "end", ...trial("3", "x"), result: "unclear", seconds: 1 },
    { event: "begin", ...trial("4", "x") },
  ] as const;
  const file = join(mkdtempSync(join(tmpdir(), "mutation-lines-")), "lines.jsonl");
  expect(readLines(file)).toEqual([]);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const read = readLines(file);
  expect(read).toEqual(lines);
  expect(unfinished(read)).toEqual(new Set(["4"]));
  expect(standing(read, ["1", "2", "3", "4", "5"])).toEqual(
    new Map([
      ["1", 5],
      ["5", 0],
    ]),
  );
  expect(trialOf(trial("1", "x"))).toBe("1 a.test.ts x");
  expect(lineSchema.safeParse({ event: "end", ...trial("1", "x"), result: "lived", seconds: 1 }).success).toBe(false);
});
