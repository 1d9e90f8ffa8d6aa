import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createLocalEngine, type LocalEngine } from "../extensions/local/engine.ts";
import { resolveAlgorithm, runUpdate } from "../src/algorithms/algorithms.ts";
import { randomStream } from "../src/core/random.ts";
import type { Group } from "../src/core/trajectory.ts";
import { branchingSchema } from "../src/rollouts/branching/settings.ts";
import { rolloutTrees, type TreesOptions } from "../src/rollouts/branching/trees.ts";
import { rolloutGroups } from "../src/rollouts/rollout.ts";
import { enginePolicy } from "../src/training/update/engine-policy.ts";
import { lookingChat, lookingEnvironment } from "./arpo-world.ts";
import { writeTinyModel } from "./tiny-model.ts";

const chat = lookingChat();
const environment = lookingEnvironment();
const folder = mkdtempSync(join(tmpdir(), "retrograde-arpo-"));
const engines: LocalEngine[] = [];
const open = async () => {
  const engine = await createLocalEngine({ model: folder, threads: 1 });
  engines.push(engine);
  return engine;
};
beforeAll(() => writeTinyModel(folder));
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.dispose();
});
afterAll(() => rmSync(folder, { recursive: true }));

const tasks = ["a", "b", "c"].map((id) => ({ id }));
const always = branchingSchema.parse({ rule: { kind: "paper", alpha: 1, beta: 0, threshold: 0 } });
const never = branchingSchema.parse({ firstRollouts: 8, rule: { kind: "paper", alpha: 0, beta: 0, threshold: 1 } });
const options: TreesOptions = {
  ...{ name: "s", groupSize: 8, concurrency: 64, seed: 5, maxTurns: 5, maxTokens: 30, episodeTimeoutMs: 1000 },
  branching: always,
};
const leavesOf = (groups: readonly Group[]) => groups.flatMap(({ trajectories }) => trajectories);
const withoutDecisions = (groups: readonly Group[]) =>
  leavesOf(groups).map(({ turns, ...rest }) => ({ ...rest, turns: turns.map(({ branching: _, ...turn }) => turn) }));

async function update(engine: LocalEngine, groups: readonly Group[], algorithm: unknown) {
  const adamW = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
  const metrics = await runUpdate(enginePolicy(engine, 1, adamW), groups, resolveAlgorithm(algorithm), randomStream(1, "update"));
  const turns = leavesOf(groups).flatMap((leaf) => leaf.turns);
  return { metrics, logprobs: await engine.logprobs(turns, { temperature: 1 }) };
}

test("the rollouts of this test call tools, and branch", async () => {
  const groups = await rolloutTrees(await open(), chat, environment, tasks, options);
  expect(groups.map(({ trajectories }) => trajectories.length)).toEqual([8, 8, 8]);
  const forked = leavesOf(groups).filter(({ branch }) => branch !== undefined);
  expect(forked.length).toBeGreaterThan(6);
  expect(forked.some(({ branch }) => (branch?.turn ?? 0) > 1)).toBe(true);
  for (const { turns } of leavesOf(groups))
    for (const { branching } of turns) if (branching !== undefined) expect(Number.isFinite(branching.rise)).toBe(true);
});

test("a tree without branches equals plain rollouts bit for bit", async () => {
  const [first, second] = [await open(), await open()];
  const plain = await rolloutGroups(first, chat, environment, tasks, options);
  const tree = await rolloutTrees(second, chat, environment, tasks, { ...options, branching: never });
  expect(withoutDecisions(tree)).toEqual(withoutDecisions(plain));
});

test("the same seed gives the same tree, bit for bit", async () => {
  const [first, second] = [await open(), await open()];
  const tree = (engine: LocalEngine) =>
    rolloutTrees(engine, chat, environment, tasks, { ...options, branching: branchingSchema.parse({}) });
  expect(await tree(first)).toEqual(await tree(second));
});

test.each(["clone", "replay"])("a fork computes nothing again but its own new tokens (%s)", async (by) => {
  const engine = await open();
  const cloneless = {
    ...environment,
    start: async (task: { id: string }) => ({ ...(await environment.start(task, 0)), clone: undefined }),
  };
  const [one] = tasks;
  // One rollout from the root: what is prefilled is then no other rollout's prompt.
  const branching = { ...always, firstRollouts: 1 };
  engine.takeStats();
  const groups = await rolloutTrees(engine, chat, by === "clone" ? environment : cloneless, [one], {
    ...options,
    groupSize: 6,
    branching,
  });
  const { prefilledTokens } = engine.takeStats().sampler;
  const leaves = leavesOf(groups);
  expect(leaves.filter(({ branch }) => branch?.by === by).length).toBe(5);
  // What comes to a context between two actions, and the last token of the action, which had not been fed when it was drawn.
  const added = leaves.flatMap(({ turns, branch }) =>
    turns.slice(branch === undefined ? 0 : branch.turn + 1).map(({ turn, context }) => {
      const before = turns[turn - 1];
      return before === undefined ? context.length : context.length - before.context.length - before.action.length + 1;
    }),
  );
  expect(prefilledTokens).toBeLessThanOrEqual(added.reduce((sum, tokens) => sum + tokens, 0));
  expect(prefilledTokens).toBeGreaterThan(0);
});

test.each(["soft", "hard", "tree"])("and so does the update that follows it, attribution %s", async (attribution) => {
  const [first, second] = [await open(), await open()];
  const plain = await rolloutGroups(first, chat, environment, tasks, options);
  const tree = await rolloutTrees(second, chat, environment, tasks, { ...options, branching: never });
  const flat =
    attribution === "tree" ? { kind: "dr-grpo", aggregation: "token-mean" } : { kind: "grpo", aggregation: "token-mean" };
  expect(await update(second, tree, { kind: "arpo", attribution, miniBatches: 1 })).toEqual(await update(first, plain, flat));
});

test("the tokens that leaves share are computed once, although soft attribution trains every leaf whole", async () => {
  const engine = await open();
  // Few enough to lie in one row of the engine's pass.
  const groups = await rolloutTrees(engine, chat, environment, tasks.slice(0, 1), { ...options, groupSize: 4, maxTurns: 3 });
  engine.takeStats();
  await update(engine, groups, { kind: "arpo", miniBatches: 1 });
  const { computedTokens, denseTokens } = engine.takeStats().training;
  const prefixes = new Set<string>();
  let whole = 0;
  for (const { context, action } of leavesOf(groups).flatMap(({ turns }) => turns)) {
    const ids = [...context, ...action];
    whole += ids.length;
    for (let end = 1; end <= ids.length; end++) prefixes.add(ids.slice(0, end).join());
  }
  expect(prefixes.size).toBeLessThan(256);
  expect(leavesOf(groups).filter(({ branch }) => branch !== undefined).length).toBe(2);
  // The update's pass, and that of the log-probs which `update` looks at.
  expect(denseTokens).toBe(2 * whole);
  expect(computedTokens).toBeLessThanOrEqual(2 * prefixes.size);
  expect(computedTokens).toBeLessThan(denseTokens / 2);
});
