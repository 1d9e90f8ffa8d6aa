import "../install.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { defineEnvironment } from "../../src/environments/define.ts";
import { openChat, openModel } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { answersEnvironment } from "../answers/answers.ts";
import { scanTasks, verdictOn } from "./scan.ts";

const share = (mean: number) => ({ mean, low: 0, high: 1 });
const facts = { tasks: 64, prompt: 80, chance: { player: "a word of the prompt", success: share(0.25) } };
const answers = { tokens: 3, inPrompt: 1 };
const model = (greedy: number, signal: number) => ({ greedy: share(greedy), sampled: share(greedy), signal: share(signal) });

test.each([
  ["fits", { ...facts, answers }],
  ["not known before the model plays", facts],
  ["against it: long prompts", { ...facts, answers, prompt: 151 }],
  ["against it: long answers", { ...facts, answers: { ...answers, tokens: 25 } }],
  ["against it: answers that are not in the prompt", { ...facts, answers: { ...answers, inPrompt: 0.5 } }],
  ["against it: a chance below 10 %", { ...facts, answers, chance: { ...facts.chance, success: share(0.05) } }],
  ["against it: a chance above 60 %", { ...facts, answers, chance: { ...facts.chance, success: share(0.7) } }],
  [
    "against it: long prompts, a chance below 10 %",
    { ...facts, answers, prompt: 500, chance: { ...facts.chance, success: share(0) } },
  ],
  ["train", { ...facts, answers, model: model(0.2, 0.5) }],
  ["teach the form first", { ...facts, answers, model: model(0, 0.05) }],
  ["solved already", { ...facts, answers, model: model(0.95, 0.1) }],
  ["rewards differ; against it: long prompts", { ...facts, answers, prompt: 500, model: model(0.2, 0.5) }],
  ["no signal; against it: long prompts", { ...facts, answers, prompt: 500, model: model(0, 0) }],
  // Just at the bounds.
  ["fits", { ...facts, prompt: 150, answers: { tokens: 24, inPrompt: 0.9 }, chance: { ...facts.chance, success: share(0.1) } }],
  ["fits", { ...facts, answers, chance: { ...facts.chance, success: share(0.6) } }],
  ["train", { ...facts, answers, model: model(0.89, 0.2) }],
  ["teach the form first", { ...facts, answers, model: model(0.89, 0.19) }],
  ["solved already", { ...facts, answers, model: model(0.9, 1) }],
  // What an environment without known answers is won by says nothing of guesses in the right form.
  ["train", { ...facts, chance: { ...facts.chance, success: share(0) }, model: model(0.2, 0.5) }],
])("%s", (verdict, of) => {
  expect(verdictOn(of)).toBe(verdict);
});

test("a file's facts are those of its training questions, and a model's rewards are counted by group", async () => {
  const data = join(mkdtempSync(join(tmpdir(), "scan-")), "names.jsonl");
  const names = ["Ana", "Ben", "Cleo", "Dan"];
  const line = (i: number) => ({ prompt: `Question ${i}: who is it, ${names.join(" or ")}?`, answer: names[i % 4] });
  writeFileSync(data, Array.from({ length: 40 }, (_, i) => `${JSON.stringify(line(i))}\n`).join(""));
  const config = resolveConfig({ rollout: { groupSize: 2 } });
  const { engine, chat } = await openModel(fileURLToPath(new URL("../../models/office", import.meta.url)), config.engine);
  try {
    const options = { seed: 1, tasks: 3, chat, rollout: config.rollout, compare: "text" as const };
    const environment = answersEnvironment({ data });
    const scanned = await scanTasks(environment, options);
    expect(scanned).toMatchObject({ tasks: 3, answers: { inPrompt: 1 } });
    expect(scanned.prompt).toBeGreaterThan(10);
    expect(scanned.chance.success.mean).toBeGreaterThan(0.1);
    expect(scanned).not.toHaveProperty("model");
    const played = await scanTasks(environment, { ...options, engine });
    // The bundled model knows its office, and no answer of one name.
    expect(played.model).toMatchObject({ greedy: { mean: 0 }, sampled: { mean: 0 }, signal: { mean: 0 } });
    expect(played.verdict).toMatch(/form first|no signal/);
  } finally {
    await engine.dispose();
  }
});

test("an environment without known answers is measured by policies that understand nothing", async () => {
  const echo = defineEnvironment({
    name: "echo",
    tasks: { train: [{ prompt: "Say yes." }, { prompt: "Say no." }] },
    start: ({ prompt }) => ({ tools: [], reward: ({ answer }) => Number(answer === prompt) }),
  });
  const { chat } = openChat(fileURLToPath(new URL("../../models/office", import.meta.url)));
  const { rollout } = resolveConfig();
  const scanned = await scanTasks(echo, { seed: 1, tasks: 64, chat, rollout });
  expect(scanned).toMatchObject({ tasks: 2, chance: { player: "repeats what the user says", success: { mean: 1 } } });
  expect(scanned).not.toHaveProperty("answers");
});
