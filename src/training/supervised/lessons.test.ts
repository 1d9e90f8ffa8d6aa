import "../../../test/office.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { testChat } from "../../../test/fixtures/chats.ts";
import { lettersEnvironment, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { fencedCode } from "../../actions/fenced-code.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import { randomStream } from "../../core/random.ts";
import type { Environment } from "../../environments/environment.ts";
import { oneMessage } from "../../environments/protocol.ts";
import { defineTool } from "../../tools/tool.ts";
import { resolveConfig } from "../config/config.ts";
import { trainingTasks } from "../config/tasks.ts";
import type { TrainingEvent } from "../record/events.ts";
import type { StepArguments } from "../sampling/step-arguments.ts";
import { checkDemonstrations, openLessons } from "./lessons.ts";
import { supervisedStep } from "./step.ts";

const chat = testChat("plain");
const user = { role: "user", content: "1 + 2?" } as const;
const code = "```python\n1 + 2\n```";
const python = defineTool({ name: "python", description: "Runs.", parameters: z.strictObject({}), execute: () => "" });
/** An environment in which actions are parts of one growing message. */
const coding: Environment = {
  ...lettersEnvironment(),
  start: () => ({
    ...{ messages: [user], tools: [python], reply: () => ({ done: true as const }), score: () => ({ reward: 0 }) },
    protocol: { actions: fencedCode(), continuation: oneMessage(() => "<result>3</result>") },
  }),
};
const fileOf = (...lines: readonly object[]) => {
  const path = join(mkdtempSync(join(tmpdir(), "retrograde-lessons-")), "chats.jsonl");
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join("\n"));
  return path;
};
const taken = async (source: Awaited<ReturnType<typeof openLessons>>, position: number, count: number) => {
  const lessons = source.from(position);
  const values = [];
  for (let i = 0; i < count; i++) values.push((await lessons.next()).value);
  return values as Extract<(typeof values)[number], readonly unknown[]>[];
};

test("a line without tools is of the environment, its text protocol included; one with tools is of the template", async () => {
  const messages = [
    user,
    { role: "assistant", content: code },
    { role: "user", content: "3" },
    { role: "assistant", content: "It is 3." },
  ];
  const tools = [{ type: "function", function: { name: "python" } }];
  const texts = async (...lines: readonly object[]) => {
    const source = await openLessons({ environment: coding, chat, maxLength: 1000, data: fileOf(...lines), seed: 1 });
    const [[sample]] = await taken(source, 0, 1);
    return chat.tokenizer.decode(sample?.action ?? []);
  };
  expect(await texts({ messages })).toBe(code); // a part of a message has no end of turn
  expect(await texts({ messages, tools })).toBe(`${code}<|im_end|>`);
});

test("lines are gone through in an order of each epoch, which position and seed decide", async () => {
  const answers = ["a", "b", "c"];
  const data = fileOf(...answers.map((content) => ({ messages: [user, { role: "assistant", content }], tools: [] })));
  const open = (seed: number) => openLessons({ environment: lettersEnvironment(), chat, maxLength: 1000, data, seed });
  const order = (samples: readonly (readonly { readonly action: readonly number[] }[])[]) =>
    samples.map(([sample]) => chat.tokenizer.decode(sample?.action ?? []).replace("<|im_end|>", ""));
  const expected = [0, 1].flatMap((epoch) => randomStream(4, "lessons", epoch).shuffle(answers));
  expect(order(await taken(await open(4), 0, 6))).toEqual(expected);
  expect(order(await taken(await open(4), 2, 3))).toEqual(expected.slice(2, 5));
  const long = openLessons({ environment: lettersEnvironment(), chat, maxLength: 3, data, seed: 1 });
  await expect(long).rejects.toThrow(`${data}, conversation 1 is "`);
});

test("an expert plays the training tasks in their order, with a seed of each position", async () => {
  const played: unknown[] = [];
  const environment: Environment = {
    ...lettersEnvironment(5),
    demonstrate: ({ id }, seed) => {
      played.push([id, seed]);
      return [user, { role: "assistant", content: "b" }];
    },
  };
  const source = await openLessons({ environment, chat, maxLength: 1000, data: undefined, seed: 6 });
  await taken(source, 3, 2);
  const tasks = await trainingTasks(environment, 3, 2, 6);
  expect(played).toEqual(tasks.map(({ id }, i) => [id, randomStream(6, "demonstration", 3 + i).integer(2 ** 31 - 1)]));
});

test("demonstrations that there are not are refused before a model is loaded", () => {
  const config = (algorithm: object) => resolveConfig({ algorithm } as never);
  const distilling = config({ kind: "custom", advantage: { kind: "self-distillation" }, update: { kind: "reinforce" } });
  const none = lettersEnvironment();
  const expert = { ...none, expert: { play: () => ({ messages: [] }) } } as never as Environment;
  const demonstrating = { ...none, demonstrate: () => [] };
  expect(() => checkDemonstrations(distilling, none)).toThrow(
    new ConfigError("environment.name", "letters", {
      expected: "one that demonstrates its tasks: the algorithm's teacher reads how they are solved",
      hint: "Add `demonstrate` to the environment.",
    }),
  );
  expect(() => checkDemonstrations(config({ kind: "sft" }), none)).toThrow(
    new ConfigError("algorithm.data", undefined, {
      expected: "a JSONL file of conversations",
      hint: 'The environment "letters" has no expert: give a file (--data FILE), or add `demonstrate` to the environment.',
    }),
  );
  for (const environment of [expert, demonstrating])
    for (const each of [distilling, config({ kind: "sft" })]) expect(() => checkDemonstrations(each, environment)).not.toThrow();
  expect(() => checkDemonstrations(config({ kind: "grpo" }), none)).not.toThrow();
  expect(() => checkDemonstrations(config({ kind: "sft", data: "none.jsonl" }), none)).toThrow("algorithm.data is");
  const data = fileOf({ messages: [user, { role: "assistant", content: "b" }] });
  expect(() => checkDemonstrations(config({ kind: "sft", data }), none)).not.toThrow();
});

test("a supervised step says what it learned from, and what it took", async () => {
  const events: TrainingEvent[] = [];
  const config = resolveConfig({ algorithm: { kind: "sft", tokensPerStep: 8 }, steps: 3, optimizer: { warmupSteps: 2 } });
  const engine = new TableEngine(lettersVocabulary);
  const args = { config, engine, onEvent: (event: TrainingEvent) => events.push(event) } as unknown as StepArguments;
  const sample = (action: readonly number[]) => [{ trajectory: "d", turn: 0, context: [0, 1], action }];
  const source = (...lessons: ReturnType<typeof sample>[]) => ({ from: (position: number) => lessons.slice(position).values() });
  const { record, timing, ...more } = await supervisedStep(args, 1, source([], sample([1, 2, 3]), sample([4]), sample([5])), 1);
  expect(more).toEqual({ tasks: 2, trajectories: [], trained: [] });
  expect(record).toEqual({
    step: 1,
    metrics: {
      ...{ demonstrations: 2, demonstrationTokens: 8, demonstrationActionTokens: 4, optimiserSteps: 1 },
      ...{ loss: expect.closeTo(Math.log(lettersVocabulary), 12), learningRate: 1e-4 },
      ...{ gradientNorm: expect.any(Number), gradientNormMax: record.metrics.gradientNorm },
    },
  });
  expect(events).toEqual([{ type: "phase", phase: "update", step: 1, total: 1 }]);
  expect(timing).toEqual({
    ...{ step: 1, rolloutSeconds: 0, updateSeconds: expect.any(Number), sampledTokens: 0, sampledTokensPerSecond: 0 },
    ...{ trainedTokens: 0, trainedTokensPerSecond: 0, denseTokens: 0, rssMb: expect.any(Number) },
  });
  expect([timing.updateSeconds > 0 && timing.updateSeconds < 60, timing.rssMb > 20 && timing.rssMb < 64_000]).toEqual([
    true,
    true,
  ]);
  await expect(supervisedStep(args, 2, source(), 0)).rejects.toThrow(
    new EnvError("demonstrations", "none left", { expected: "at least one a step" }),
  );
});
