import "../install.ts";
import { expect, test } from "vitest";
import { resolveConfig } from "../../src/training/config/config.ts";
import { checkEnvironment } from "../check/check.ts";
import { calculationEnvironment, calculatorEnvironment } from "./environments.ts";

const { rollout } = resolveConfig();

test.each([calculationEnvironment(), calculatorEnvironment()])(
  "$name gives nothing away: the expert solves it, and no scripted policy does",
  async (environment) => {
    const report = await checkEnvironment(environment, { seed: 1, tasks: 160, trainingTasks: 400, rollout });
    expect(report.expert?.mean).toBe(1);
    expect(report.policies.filter(({ success }) => success.mean > 0.05)).toEqual([]);
    expect(report.overlap.map(({ shared }) => shared)).toEqual([0, 0, 0]);
    expect(report.unrepeatable).toEqual([]);
  },
);

test.each([calculationEnvironment(), calculatorEnvironment()])(
  "demonstrations of $name teach the form and not the solution: their choices are drawn",
  async (environment) => {
    const played = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const task = await environment.task("train", i);
        const shown = (await environment.demonstrate?.(task, i)) ?? [];
        const episode = await environment.start(task, i);
        return { shown: shown.slice(2), solved: (await episode.score(shown)).reward };
      }),
    );
    const right = played.filter(({ solved }) => solved === 1).length / played.length;
    // One of eight choices, or two where the order is free: 3 of 16 on average.
    expect(right).toBeGreaterThan(0.1);
    expect(right).toBeLessThan(0.3);
    const operationsShown = new Set(played.map(({ shown }) => /[-+*/]/.exec(JSON.stringify(shown))?.[0]));
    expect(operationsShown.size).toBe(4);
  },
);

test("a calculation counts in the spellings that people use, and nothing else does", async () => {
  const environment = calculationEnvironment();
  const task = { id: "a", request: { prompt: "", kind: "product", numbers: [7, 6], operation: "*", answer: 42 } } as const;
  const rewardOf = async (content: string) =>
    (await (await environment.start(task, 0)).score([{ role: "assistant", content }])).reward;
  for (const right of ["7 * 6", "6*7", " 7 x 6.", "7 × 6", "84 / 2", "84 ÷ 2"]) expect(await rewardOf(right)).toBe(1);
  for (const wrong of ["42", "7 * 6 = 42", "7 + 6", "7 * 6 or 7 + 6", "", "7 ** 6", "1 / 0"])
    expect(await rewardOf(wrong)).toBe(0);
});

test("an answer without a call of the calculator is worth nothing", async () => {
  const environment = calculatorEnvironment();
  const task = await environment.task("test", 0);
  const { messages } = environment.expert?.play(task) ?? { messages: [] };
  const episode = await environment.start(task, 0);
  expect((await episode.score(messages)).reward).toBe(1);
  expect((await episode.score(messages.slice(-1))).reward).toBe(0);
});
