import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import "../install.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { parameterCount } from "../local/model/model-config.ts";
import { readModelConfig } from "../local/model/model-folder.ts";
import { answerLimit, computedTokens, costsOf, firstLine, lengthsOf } from "./taught-costs.ts";

test("a step's time counts once what its conversations share", () => {
  const tools = [{ type: "function", function: { name: "lookup", description: "x".repeat(1500) } }];
  const row = (prompt: string) => ({
    messages: [
      { role: "system", content: "y".repeat(400) },
      { role: "user", content: prompt },
      { role: "assistant", content: "It is done." },
    ],
    tools,
  });
  const lengths = lengthsOf([row("z".repeat(300)), row("z".repeat(340))].map((each) => JSON.stringify(each)).join("\n"));
  expect(Math.round(lengths.shared)).toBe(500);
  expect(Math.round(lengths.whole)).toBe(99);
  expect(lengths.said).toBeLessThan(lengths.whole / 2);

  // 2,000 tokens are four conversations of 599, of which each but the first costs 99.
  expect(computedTokens(lengths, 2000)).toBeCloseTo(lengths.shared + 4 * lengths.whole, 9);
});

test("an answer may have four times its longest demonstration, in steps of 64 tokens", () => {
  const row = (...said: readonly string[]) =>
    JSON.stringify({ messages: said.map((content) => ({ role: "assistant", content })) });
  // {"role":"assistant","content":""} has 33 characters.
  expect(answerLimit(`${row("x".repeat(31))}\n`)).toBe(64);
  expect(answerLimit(`${row("x".repeat(32))}\n`)).toBe(128);
  expect(answerLimit(`${row("", "x".repeat(100))}\n${row("y")}\n`)).toBe(192);
  expect(answerLimit(JSON.stringify({ messages: [{ role: "user", content: "x".repeat(500) }] }))).toBe(64);
});

test("the cost of all attempts is that of the first, scaled; a script has none", () => {
  const usage = { requests: 6, promptTokens: 1000, completionTokens: 100, unreported: 0 };
  const first = { attempts: 2, usage, cost: { total: 0.5, currency: "EUR" } } as never;
  expect(firstLine(first, 10)).toBe(
    "By its first 2 attempts, all 10 take about 30 calls, 5,000 prompt and 500 completion tokens, 2.50 EUR",
  );
  expect(firstLine({ attempts: 2, usage } as never, 10)).toMatch(/completion tokens; --prices says the money$/);
  expect(firstLine({ attempts: 2, usage: { ...usage, promptTokens: 0, completionTokens: 0 } } as never, 10)).toBeUndefined();
});

/** The costs of the bundled model's training in the office, on a machine of 0.1 GFLOP/s. */
async function officeCosts(more: object = {}, load?: string) {
  const settings = { environment: "office", rollout: { tasksPerStep: 2, groupSize: 3 }, evaluation: { tasks: 5, k: 2 }, ...more };
  const reinforcement = resolveConfig({ ...settings, algorithm: "grpo", steps: 10 });
  const supervised = resolveConfig({ ...settings, algorithm: { kind: "sft", data: "x", tokensPerStep: 100 }, steps: 4 });
  const task = (n: number) => ({ prompt: `${n}` });
  const plan = {
    tasks: { demonstrations: [task(1)], reinforcement: [task(2), task(3)], test: [task(4), task(5), task(6)] },
    teacher: { name: "gpt", isScript: false },
    folders: { demonstrations: "d", supervised: "s", reinforced: "r" },
    file: "f",
  };
  const asked: unknown[] = [];
  const measurePeak = async (options: unknown) => {
    asked.push(options);
    return 0.1;
  };
  const runs = { supervised, reinforcement };
  const costs = await costsOf(plan, { k: 3 }, runs, undefined, { measurePeak, otherLoad: () => load });
  return { ...costs, asked };
}
// 80 tokens of a system message and a question of 16, of which 8 are said, by four characters a token.
const demonstrated = (() => {
  const message = (role: string, characters: number) => {
    const bare = JSON.stringify([{ role, content: "" }]).length;
    return { role, content: "x".repeat(characters - bare) };
  };
  const answer = message("assistant", 128);
  // The second of a list has a comma, and no brackets.
  const question = message("user", 128 + 1);
  return `${JSON.stringify({ messages: [message("system", 320), question, answer] })}\n`;
})();

/** The seconds of a line, as it writes them for sft, grpo and evaluations. */
function secondsIn(line = ""): number[] {
  const [, ...texts] = /: (.*) of sft, (.*) of grpo, (.*) of evaluations/.exec(line) ?? [];
  const units: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600 };
  return texts.map((text) =>
    [...text.matchAll(/([\d.]+) (s|min|h)/g)].reduce((sum, [, number, unit]) => sum + Number(number) * (units[unit] ?? 0), 0),
  );
}

test("on this machine the costs have its memory, and the time by its products and the demonstrations", async () => {
  const { lines, timeLine, asked } = await officeCosts({ engine: { threads: 2 } });
  expect(asked).toEqual([{ threads: 2 }]);
  expect(lines.slice(1, 3)).toEqual([
    "  record    3 attempts of gpt, its first 2 say what they cost; kept by reward >= 1",
    "  sft       4 steps of about 100 tokens, from default",
  ]);
  expect(lines[5]).toMatch(/^ {2}memory {4}about \d\.\d+ GiB for sft, \d\.\d+ GiB for grpo; \d+\.\d+ GiB are free$/);
  const { said, whole, shared } = lengthsOf(demonstrated);
  expect([said, whole, shared]).toEqual([32, 64, 80]);
  const parameters = parameterCount(
    await readModelConfig(fileURLToPath(new URL("../../models/office/config.json", import.meta.url))),
  );
  // A machine reaches 0.6 of its peak; two operations a parameter and token forward, and four back.
  const seconds = (products: number) => (parameters * products) / (0.6 * 0.1e9);
  const [sft, grpo, evaluations] = secondsIn(timeLine(demonstrated));
  // 100 tokens are one conversation of 144: 80 shared, and 64.
  expect(sft / seconds(4 * 144 * 6)).toBeCloseTo(1, 1);
  expect(grpo / seconds(10 * 6 * (32 * 2 + 64 * 6))).toBeCloseTo(1, 1);
  // Three evaluations of the three tasks, twice sampled and once greedy.
  expect(evaluations / seconds(3 * 3 * 3 * 32 * 2)).toBeCloseTo(1, 1);
  expect(timeLine(demonstrated)).toMatch(
    /^Time, roughly, if nothing else runs: .* of evaluations\. It is said again as the runs go\.$/,
  );
});

test("an adapter takes two thirds of the training, and a busy machine is said to be one", async () => {
  const lora = { rank: 4, alpha: 4 };
  const [whole, adapter] = [await officeCosts(), await officeCosts({ engine: { lora } }, "40 % of other programs")];
  const [sft, , evaluations] = secondsIn(whole.timeLine(demonstrated));
  const [own, , same] = secondsIn(adapter.timeLine(demonstrated));
  expect([own / sft, same / evaluations]).toEqual([expect.closeTo(2 / 3, 1), 1]);
  expect(adapter.timeLine(demonstrated)).toMatch(/^Time, roughly, with 40 % of other programs; a quiet machine is faster: /);
});
