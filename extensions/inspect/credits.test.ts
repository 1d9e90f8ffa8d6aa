import { expect, test } from "vitest";
import { readTrajectories } from "../../src/runs/read.ts";
import { createRun } from "../../src/runs/write.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { metricsOf, newFolder, small, work } from "../../src/training/record.fixture.ts";
import { train } from "../../src/training/trainer.ts";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { readCredits } from "./read-credits.ts";

test("credits hold the weights that moved the policy: pushed up where the reward was above its group's mean, and the log-prob follows", async () => {
  const folder = newFolder();
  await work(folder, { record: { after: 4 } });
  const trajectories = new Map(readTrajectories(folder, 1).map((trajectory) => [trajectory.id, trajectory]));
  const credits = (await readCredits(folder, 1)) ?? [];
  expect(credits.length).toBeGreaterThan(4);
  for (const { trajectory, turn, weights, before, advantage, factor, optimiserStep, after } of credits) {
    const { action, samplerLogprobs } = trajectories.get(trajectory)?.turns[turn] ?? { action: [], samplerLogprobs: [] };
    expect(weights).toHaveLength(action.length);
    expect(weights.every((weight) => Math.sign(weight) === Math.sign(advantage))).toBe(true);
    expect(after.every(Number.isFinite)).toBe(true);
    // The first update is under the weights that sampled; M is 1 there.
    if (optimiserStep === 0) {
      expect(factor).toBe(1);
      for (const [t, logprob] of before.entries()) expect(logprob).toBeCloseTo(samplerLogprobs[t], 4);
    }
  }
  const moved = credits.filter(({ weights }) => weights.length === 1);
  const agree = moved.filter(({ weights, before, after }) => Math.sign(after[0] - before[0]) === Math.sign(weights[0]));
  expect(agree.length).toBeGreaterThan(moved.length * 0.6);
});

test.each(["seeupo", "grpo"] as const)(
  "the log-prob at the end is that of the weights after the whole update, of each token's last optimiser step (%s)",
  async (kind) => {
    const folder = newFolder();
    const algorithm = kind === "seeupo" ? small.algorithm : ({ kind, epochs: 2 } as const);
    const config = resolveConfig(small, { steps: 1, record: { after: 4 }, algorithm });
    createRun(folder, config);
    const engine = new TableEngine(lettersVocabulary);
    await train({ config, engine, chat: lettersChat(), environment: lettersEnvironment(), folder });
    const turns = new Map(readTrajectories(folder, 1).flatMap(({ id, turns }) => turns.map((turn, at) => [`${id} ${at}`, turn])));
    const credits = (await readCredits(folder, 1)) ?? [];
    const looked = credits.filter(({ end }) => end.every(Number.isFinite));
    const ofTurns = new Set(credits.map(({ trajectory, turn }) => `${trajectory} ${turn}`));
    expect(new Set(looked.map(({ trajectory, turn }) => `${trajectory} ${turn}`))).toEqual(ofTurns);
    let moved = 0;
    for (const { trajectory, turn, end, after } of looked) {
      const played = turns.get(`${trajectory} ${turn}`);
      if (played === undefined) throw new Error("a credit of no turn");
      const [now] = await engine.logprobs([played], { temperature: 1 });
      for (const [t, logprob] of end.entries()) expect(logprob).toBeCloseTo(now[t], 4);
      moved += end.filter((logprob, t) => Math.abs(logprob - after[t]) > 1e-3).length;
    }
    if (kind === "seeupo") expect(moved).toBeGreaterThan(0); // later visits moved what the first look saw
  },
);

test("recording changes no number", async () => {
  const [on, off] = [newFolder(), newFolder()];
  await work(on, { record: { credits: true, after: 4 } });
  await work(off, { record: { credits: false } });
  expect(metricsOf(on)).toBe(metricsOf(off));
  expect(await readCredits(off, 1)).toBeUndefined();
  expect((await readCredits(on, 6))?.length).toBeGreaterThan(0);
});

test("without a look after the update, log-probs after it are those that the algorithm computed itself", async () => {
  const folder = newFolder();
  await work(folder, { record: { after: 0 }, algorithm: { kind: "grpo" } });
  const credits = (await readCredits(folder, 1)) ?? [];
  expect(credits.length).toBeGreaterThan(0);
  expect(credits.flatMap(({ after }) => after).every(Number.isNaN)).toBe(true);
});
