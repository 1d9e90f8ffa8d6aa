import "../../research/install.ts";
import { expect, test } from "vitest";
import type { Group, Trajectory, Turn } from "../../src/core/trajectory.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { invoke } from "../../test/command-line.ts";
import { chancesOf, fittingModels, guessedStepSeconds, stepSeconds } from "./advice.ts";

const turn = (context: number, action: number, calls = 1, invalid = 0): Turn => ({
  ...{ trajectory: "t", turn: 0, context: Array<number>(context).fill(1), action: Array<number>(action).fill(1) },
  ...{ samplerLogprobs: [], entropies: [], weightVersion: 0, truncated: false, rewritten: false },
  ...{ toolCalls: calls, invalidToolCalls: invalid },
});
const episode = (reward: number, turns: readonly Turn[] = [turn(10, 2), turn(15, 3, 0)], error?: string): Trajectory => ({
  ...{ id: "t", group: "g", task: "x", turns, reward, scores: {}, stopReason: "done", messages: [] },
  ...(error === undefined ? {} : { error }),
});
const group = (...trajectories: readonly Trajectory[]): Group => ({ id: "g", trajectories });
const verdict = (groups: readonly Group[], hasTools = true) => chancesOf(groups, hasTools).verdict;

test("the verdict follows calls, rewards and their differences", () => {
  expect(chancesOf([group(episode(0), episode(1)), group(episode(0), episode(0))], true)).toEqual({
    ...{ episodes: 4, failures: [], calls: 4, invalidCalls: 0, successes: 1, groups: 2, withSignal: 1, longest: 18 },
    verdict: "learns",
  });
  const talks = [turn(10, 5, 0)];
  const stammers = [turn(10, 5, 4, 2)];
  expect(verdict([group(episode(0, talks), episode(1, talks))])).toBe("format");
  expect(verdict([group(episode(0, talks), episode(1, talks))], false)).toBe("learns");
  expect(verdict([group(episode(0, stammers), episode(0, stammers))])).toBe("format");
  expect(verdict([group(episode(0, [turn(10, 5, 4, 1)]), episode(0))])).toBe("too-hard");
  expect(verdict([group(episode(1), episode(1))])).toBe("too-easy");
  expect(verdict([group(episode(1), episode(1)), group(episode(0), episode(0))])).toBe("no-signal");
  const failed = episode(0, talks, "the tool threw");
  expect(chancesOf([group(failed, failed), group(episode(1))], true)).toMatchObject({
    ...{ verdict: "fails", failures: ["the tool threw"] },
  });
});

test("more memory fits more models and fuller forms, and none is listed beyond its context", () => {
  const use = { training: true, length: 1024, trajectories: 4, concurrency: 4 } as const;
  const names = (gib: number) => fittingModels(use, gib * 2 ** 30).map(({ name, form }) => `${name}: ${form}`);
  expect(names(1)).toEqual([]);
  // docs/models.md, "What one can train": 3.3 / 2.7 / 1.5 / 1.4 GiB.
  expect(names(1.45)).toEqual(["smollm2: an adapter, base in 4 bits"]);
  expect(names(3.4)).toContain("smollm2: itself");
  expect(names(5)).toContain("qwen2.5-0.5b: an adapter");
  expect(names(12).length).toBeGreaterThan(names(5).length);
  const long = fittingModels({ ...use, length: 16_384 }, 64 * 2 ** 30).map(({ name }) => name);
  expect(long).toContain("qwen2.5-0.5b");
  expect(long).not.toContain("smollm2");
});

test("a step's time follows the products of a model, beside an agent's own time", () => {
  const rollout = { tasksPerStep: 4, groupSize: 8 };
  const asks = { requests: 2, tokens: 12.5, answer: 3 };
  const groups = [group(episode(0, [turn(10, 2), turn(15, 4)]), episode(0, [turn(15, 2), turn(20, 4)]))];
  const seconds = (played: number, parameters: number, measured: number) => {
    const cost = { episodes: 2, tokensPerEpisode: 6, samplingPerStep: measured, trainingPerStep: 0, evaluation: 1, whole: 1 };
    return stepSeconds({ cost, groups }, played, parameters, rollout, 1);
  };
  const guess = (parameters: number) => guessedStepSeconds(parameters, asks, rollout, 1);
  // A small model's step is the agent's own time for the most part; that does not grow with the model.
  expect(seconds(1e3, 1e6, 10)).toBeCloseTo(guess(1e6) + 10 - guess(1e3), 6);
  // A model that was faster than guessed says how much faster another one is.
  expect(seconds(1e6, 4e6, guess(1e6) / 2)).toBeCloseTo(guess(4e6) / 2, 6);
});

test("a guess is within a factor of two of what was measured", () => {
  // docs/demo-smollm2.md: 155 s for 24 steps of 16 tasks x 8 rollouts, about 60 and 7 tokens, at 370 to 460 GFLOP/s.
  const calculation = guessedStepSeconds(
    134.5e6,
    { requests: 1, tokens: 60, answer: 7 },
    { tasksPerStep: 16, groupSize: 8 },
    415,
  );
  expect(calculation / (155 / 24)).toBeGreaterThan(0.5);
  expect(calculation / (155 / 24)).toBeLessThan(2);
});

test("advise plays a model, lists what fits and says what is next", async () => {
  const small = ["--set", "rollout.tasksPerStep=4", "--set", "rollout.groupSize=4", "--threads", "1"];
  const learns = await invoke("advise", "--env", "office", "--memory", "6", "--hours", "0.001", ...small);
  expect(learns).toMatchObject({ exitCode: 0, error: "" });
  expect(learns.out).toMatch(/16 episodes, at temperature 1/);
  expect(learns.out).toMatch(/smollm2 .* itself .*too long/);
  expect(learns.out).not.toMatch(/qwen3-4b/);
  expect(learns.out).toMatch(/it can learn here\. .* train --env office/);
  const shown = ["--set", "rollout.hiddenTools=allow"];
  const other = await invoke("advise", "--env", "calculator", "--model", "bundled:office", "--json", ...small, ...shown);
  const { chances, fitting, memoryBytes } = JSON.parse(other.out);
  expect(chances).toMatchObject({ verdict: "format", successes: 0 });
  const { cost } = JSON.parse(other.out);
  const steps = resolveConfig({ environment: "calculator" }).steps;
  for (const { bytes, seconds, parameters } of fitting) {
    expect(bytes).toBeLessThanOrEqual(memoryBytes);
    expect(seconds).toBeGreaterThan(steps * (cost.samplingPerStep + cost.trainingPerStep));
    expect(parameters).toBeGreaterThan(1e8);
  }
});

test.each([
  [["--memory", "none"], /--memory is "none"; expected a number above 0/],
  [["agent.ts"], /--tasks is "none"; expected a file of JSON lines/],
])("advise %j is refused before anything is loaded", async (flags, message) => {
  const { exitCode, error } = await invoke("advise", ...flags);
  expect(exitCode).not.toBe(0);
  expect(error).toMatch(message);
});
