import "../../../test/office.ts";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { ConfigError, RunError } from "../../core/errors.ts";
import type { Message } from "../../core/messages.ts";
import type { Environment } from "../../environments/environment.ts";
import { layout } from "../../runs/layout.ts";
import { checkpointSteps, readEvaluations, readMetrics } from "../../runs/read.ts";
import { createRun, reopenRun } from "../../runs/write.ts";
import { resolveConfig } from "../config/config.ts";
import type { UserConfig } from "../config/user-config.ts";
import type { TrainingEvent } from "../record/events.ts";
import { train } from "../trainer.ts";
import { checkDemonstrations } from "./lessons.ts";

const letters = lettersEnvironment();
/** Says b, which is what the environment rewards. */
const said = (prompt: string): Message[] => [
  { role: "user", content: prompt },
  { role: "assistant", content: "bb" },
  { role: "user", content: prompt },
  { role: "assistant", content: "b" },
];
const withExpert: Environment = { ...letters, demonstrate: (task) => said((task as { prompt?: string }).prompt ?? "a") };
const small: UserConfig = {
  environment: "letters",
  algorithm: { kind: "sft", tokensPerStep: 60 },
  optimizer: { learningRate: 0.3, schedule: "constant" },
  rollout: { maxTokens: 4 },
  evaluation: { tasks: 20, k: 2 },
  checkpoint: { every: 3 },
  steps: 12,
};

async function work(environment: Environment, changes: UserConfig = {}, more: { folder?: string; stopAt?: number } = {}) {
  const folder = more.folder ?? join(mkdtempSync(join(tmpdir(), "retrograde-sft-")), "run");
  const config = resolveConfig(small, changes);
  if (more.folder === undefined) createRun(folder, config);
  else reopenRun(folder, config, config);
  const stop = new AbortController();
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "stepped" && event.record.step === more.stopAt) stop.abort();
  };
  const engine = new TableEngine(lettersVocabulary);
  const ended = await train({ config, engine, chat: lettersChat(), environment, folder, onEvent, signal: stop.signal }).catch(
    (error: unknown) => error,
  );
  return { folder, ended };
}

test("demonstrations by an environment's expert teach it, with evaluations before and after", async () => {
  const { folder } = await work(withExpert);
  const [before, after] = readEvaluations(folder).filter(({ decoding }) => decoding === "sampled");
  expect(after.reward.mean).toBeGreaterThan(before.reward.mean + 0.3);
  const metrics = readMetrics(folder).map((record) => record.metrics);
  expect(Number(metrics.at(-1)?.loss)).toBeLessThan(Number(metrics[0].loss) / 2);
  // Whole conversations, of 13 tokens each, until there are 60.
  expect(metrics[0]).toMatchObject({
    demonstrations: 5,
    demonstrationTokens: 65,
    demonstrationActionTokens: 25,
    optimiserSteps: 1,
  });
});

test("demonstrations that draw have a seed of each task's own, which the same run draws again", async () => {
  const seeds = async (seed: number) => {
    const drawn: number[] = [];
    const drawing: Environment = {
      ...letters,
      demonstrate: (_, episodeSeed) => {
        drawn.push(episodeSeed);
        return said("a");
      },
    };
    await work(drawing, { seed, steps: 2, evaluation: { tasks: 0 } });
    return drawn;
  };
  const drawn = await seeds(1);
  expect(drawn.length).toBeGreaterThanOrEqual(10);
  expect(new Set(drawn).size).toBe(drawn.length);
  expect(await seeds(1)).toEqual(drawn);
  expect(await seeds(2)).not.toEqual(drawn);
});

test("a file of conversations is gone through in a new order each time, and a run that stops continues with the next one", async () => {
  const data = join(mkdtempSync(join(tmpdir(), "retrograde-sft-")), "chats.jsonl");
  writeFileSync(data, ["a", "b", "c"].map((prompt) => JSON.stringify({ messages: said(prompt) })).join("\n"));
  const changes = { algorithm: { kind: "sft", data, tokensPerStep: 30 }, evaluation: { tasks: 0 } } as const;
  const whole = await work(letters, changes);
  const stopped = await work(letters, changes, { stopAt: 7 });
  expect(stopped.ended).toBeInstanceOf(RunError);
  expect(readMetrics(stopped.folder)).toHaveLength(7);
  await work(letters, changes, { folder: stopped.folder });
  expect(readFileSync(layout.metrics(stopped.folder), "utf8")).toBe(readFileSync(layout.metrics(whole.folder), "utf8"));
});

test("an interruption leaves an update that is under way, and keeps the steps before it", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-sft-")), "run");
  const config = resolveConfig(small, { evaluation: { tasks: 0 }, checkpoint: { every: 100 } });
  createRun(folder, config);
  const stop = new AbortController();
  const engine = new TableEngine(lettersVocabulary);
  const pass = engine.forwardBackward.bind(engine);
  const brokenOff = new AbortController();
  engine.forwardBackward = (...args) => {
    if (engine.weightVersion < 2) return pass(...args);
    stop.abort();
    return new Promise((_, reject) => brokenOff.signal.addEventListener("abort", () => reject(new Error("broken off"))));
  };
  const restorePoint = async () => ({ overSteps: true, restore: async () => brokenOff.abort() });
  const args = { config, chat: lettersChat(), environment: withExpert, folder, signal: stop.signal };
  const ended = await train({ ...args, engine: Object.assign(engine, { restorePoint }) }).catch((error: unknown) => error);
  expect(String(ended)).toMatch(/interrupted.*2 finished steps are kept/);
  expect(checkpointSteps(folder).at(-1)).toBe(2);
});

test("an interruption does not wait for an expert that plays", async () => {
  let plays = 0;
  const stop = new AbortController();
  const slow: Environment = {
    ...withExpert,
    demonstrate: async () => {
      if (++plays <= 7) return said("a");
      stop.abort();
      return new Promise<never>(() => {});
    },
  };
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-sft-")), "run");
  const config = resolveConfig(small, { evaluation: { tasks: 0 }, checkpoint: { every: 100 } });
  createRun(folder, config);
  const engine = new TableEngine(lettersVocabulary);
  const args = { config, engine, chat: lettersChat(), environment: slow, folder, signal: stop.signal };
  expect(String(await train(args).catch((error: unknown) => error))).toMatch(/interrupted.*1 finished steps/);
  expect(checkpointSteps(folder).at(-1)).toBe(1);
});

test("an environment without an expert, and a conversation that is too long, are refused by name", async () => {
  expect(() => checkDemonstrations(resolveConfig({ algorithm: "sft" }), letters)).toThrow(ConfigError);
  expect(() => checkDemonstrations(resolveConfig({ algorithm: "sft" }), letters)).toThrow(
    'The environment "letters" has no expert',
  );
  const data = join(mkdtempSync(join(tmpdir(), "retrograde-sft-")), "long.jsonl");
  const long = {
    messages: [
      { role: "user", content: "a".repeat(5000) },
      { role: "assistant", content: "b" },
    ],
  };
  writeFileSync(data, JSON.stringify(long));
  const { ended } = await work(letters, { algorithm: { kind: "sft", data } });
  expect(String(ended)).toMatch(/long.jsonl, conversation 1 is "50\d\d tokens"; expected at most 4096/);
});
