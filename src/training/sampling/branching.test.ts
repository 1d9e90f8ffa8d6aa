import "../../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lookingChat, lookingEnvironment } from "../../../test/arpo-world.ts";
import { lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { mean } from "../../core/mean.ts";
import type { Trajectory, Turn } from "../../core/trajectory.ts";
import { readMetrics, readProgress, readTrajectories } from "../../runs/read.ts";
import { createRun } from "../../runs/write.ts";
import { resolveConfig } from "../config/config.ts";
import type { UserConfig } from "../config/user-config.ts";
import type { TrainingEvent } from "../record/events.ts";
import { train } from "../trainer.ts";
import { branchingMetrics, branchShares, checkBranching, toolCallsSpent } from "./branching.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";

const small: UserConfig = {
  environment: "looking",
  algorithm: "arpo",
  rollout: { tasksPerStep: 3, groupSize: 6, maxTokens: 12, maxTurns: 5 },
  evaluation: { tasks: 2, k: 2 },
  optimizer: { learningRate: 0.1 },
  checkpoint: { every: 1 },
  steps: 3,
  seed: 5,
};
const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-arpo-")), "run");

async function work(folder: string, change: UserConfig = {}) {
  const config = resolveConfig(small, change);
  const events: TrainingEvent[] = [];
  createRun(folder, config);
  await train({
    config,
    engine: new TableEngine(lettersVocabulary),
    chat: lookingChat(),
    environment: lookingEnvironment(),
    folder,
    onEvent: (event) => events.push(event),
  });
  return { config, events };
}

test("a run of arpo branches, and keeps what was decided and what it cost", async () => {
  const folder = newFolder();
  const { events } = await work(folder);
  const steps = readMetrics(folder);
  expect(steps).toHaveLength(3);
  for (const { step, metrics } of steps) {
    const trajectories = readTrajectories(folder, step);
    expect(trajectories).toHaveLength(18);
    const forked = trajectories.filter(({ branch }) => branch !== undefined);
    expect(metrics).toMatchObject({ leavesPerTask: 6, forksCloned: forked.length, forksReplayed: 0, refills: 9 - forked.length });
    expect(Number.isFinite(metrics.entropyRise)).toBe(true);
    expect(metrics.toolCalls).toBe(toolCallsSpent(trajectories));
    const sampled = trajectories
      .flatMap(({ turns, branch }) => turns.slice(branch?.turn ?? 0))
      .flatMap(({ entropies }) => entropies);
    expect(metrics.entropy).toBeCloseTo(mean(sampled), 12);
    expect(forked.every(({ branch }) => branch?.by === "clone")).toBe(true);
  }
  expect(steps.reduce((sum, { metrics }) => sum + (metrics.forksCloned ?? 0), 0)).toBeGreaterThan(3);
  expect(readProgress(folder, 3).toolCalls).toBe(steps.reduce((sum, { metrics }) => sum + (metrics.toolCalls ?? 0), 0));
  // Sampled and greedy, before and after: evaluations begin every episode at the start.
  expect(events.filter((event) => event.type === "evaluated")).toHaveLength(4);
});

test.each([
  { kind: "arpo", attribution: "hard" },
  { kind: "arpo", attribution: "tree" },
  { kind: "seeupo", advantage: "tree" },
  { kind: "grpo" },
  { kind: "custom", advantage: { kind: "dual-group" }, update: { kind: "appo" } },
] as const)("trees train by %j", async (algorithm) => {
  const folder = newFolder();
  const inside = algorithm.kind === "custom";
  await work(folder, { algorithm, rollout: { branching: inside ? { rule: { kind: "appo" } } : {} }, steps: 1 });
  const kept = readTrajectories(folder, 1).flatMap(({ branch }) => branch?.kept ?? []);
  expect(kept.length > 0 && Math.min(...kept) > 0).toBe(inside);
  const [{ metrics }] = readMetrics(folder);
  expect(metrics.forksCloned).toBeGreaterThan(0);
  expect(metrics.samplerGapMax).toBeLessThan(1e-9);
  expect(metrics.gradientNorm).toBeGreaterThan(0);
});

test("how forks come about is known from the first task's episode; where they cannot, branching is refused before anything", async () => {
  const looking = lookingEnvironment();
  const cloneless = {
    ...looking,
    start: async (task: { id: string }) => ({ ...(await looking.start(task, 0)), clone: undefined }),
  };
  const config = resolveConfig(small);
  expect(await checkBranching(config, looking)).toBe("Rollouts branch: episodes are copied.");
  expect(await checkBranching(config, cloneless)).toMatch("played again");
  expect(
    await checkBranching(resolveConfig(small, { rollout: { branching: "off" } }), { ...cloneless, replayable: false }),
  ).toBeUndefined();
  await expect(checkBranching(config, { ...cloneless, replayable: false })).rejects.toThrow(
    /rollout\.branching.*"off" in this environment.*"looking" has no episodes with `clone`/s,
  );
  const bound = {
    ...cloneless,
    start: async (task: { id: string }) => {
      const episode = await cloneless.start(task);
      return { ...episode, tools: episode.tools.map((tool) => ({ ...tool, replayable: undefined })) };
    },
  };
  await expect(checkBranching(config, bound)).rejects.toThrow(/its tool "look" does not say/);
  const broken = { ...looking, start: () => Promise.reject(new Error("no database")) };
  await expect(checkBranching(config, broken)).rejects.toThrow(/an episode of "looking" is no database/);
});

const turn = (toolCalls: number, branching?: Turn["branching"]): Turn => ({
  ...{ trajectory: "", turn: 0, context: [1], action: [1], samplerLogprobs: [-1], entropies: [1], weightVersion: 0 },
  ...{ truncated: false, rewritten: false, invalidToolCalls: 0, toolCalls },
  ...(branching === undefined ? {} : { branching }),
});
const leaf = (id: string, turns: readonly Turn[], branch?: Trajectory["branch"]): Trajectory => ({
  ...{ id, group: "g", task: "t", turns, reward: 0, scores: {}, stopReason: "done", messages: [] },
  ...(branch === undefined ? {} : { branch }),
});

test("the mean entropy counts tokens that branches share once", () => {
  const of = (...entropies: number[]): Turn => ({ ...turn(0), action: entropies.map(() => 1), entropies });
  const second = { ...of(4, 6), turn: 1 };
  const a = leaf("a", [of(2), { ...of(4, 8), turn: 1 }]);
  // 2, 4 and 8 of the one; before the action 4 and 6 of the other, or behind its first token 6 alone.
  const entropyWith = (branch: Trajectory["branch"]) =>
    rolloutMetrics([{ id: "g", trajectories: [a, leaf("b", [of(2), second], branch)] }], 0).entropy;
  expect(entropyWith({ from: "a", turn: 1 })).toBe((2 + 4 + 8 + 4 + 6) / 5);
  expect(entropyWith({ from: "a", turn: 1, kept: 1 })).toBe((2 + 4 + 8 + 6) / 4);
});

test("calls of shared turns are counted once, and again where a fork repeated them", () => {
  const turns = [
    turn(2),
    turn(3, { entropy: 0.5, rise: 0.25, branch: true, forks: 1 }),
    turn(0, { entropy: 0.5, rise: -0.05, branch: true, forks: 0 }),
  ];
  const shared = [turns[0], turn(1)];
  const [a, cloned, replayed] = [
    leaf("a", turns),
    leaf("b", shared, { from: "a", turn: 1, by: "clone" }),
    leaf("b", shared, { from: "a", turn: 1, by: "replay" }),
  ];
  expect(toolCallsSpent([a])).toBe(5);
  expect(toolCallsSpent([a, cloned])).toBe(6);
  expect(toolCallsSpent([a, replayed])).toBe(8);
  const { rollout } = resolveConfig({ algorithm: "arpo", rollout: { groupSize: 3, branching: { firstRollouts: 1 } } });
  expect(branchingMetrics([{ id: "g", trajectories: [a, cloned, leaf("c", [turn(0)])] }], rollout)).toEqual({
    leavesPerTask: 3,
    branches: 1,
    refills: 1,
    forksCloned: 1,
    forksReplayed: 0,
    entropyRise: 0.1,
    branchedAbove: 1,
    branchedBelow: 1,
  });
  expect(branchingMetrics([{ id: "g", trajectories: [leaf("c", [turn(0)])] }], rollout)).toMatchObject({
    entropyRise: null,
    branchedAbove: null,
    branchedBelow: null,
  });
  expect(branchingMetrics([], resolveConfig().rollout)).toEqual({});
});

test("shares of branches are those of the halves by ΔH; the one in the middle is in neither", () => {
  const decision = (rise: number, branch: boolean) => ({ entropy: 1, rise, branch, forks: 0 });
  const decisions = [decision(0.4, true), decision(-0.2, false), decision(0.1, true), decision(0.3, false), decision(0, false)];
  expect(branchShares(decisions)).toEqual({ above: 0.5, below: 0 });
});
