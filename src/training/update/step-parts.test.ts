import { expect, test } from "vitest";
import { testChat } from "../../../test/fixtures/chats.ts";
import { factsOf } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { Engine } from "../../engines/engine.ts";
import { defineEnvironment } from "../../environments/define.ts";
import { trajectoryOf } from "../../runs/store.fixture.ts";
import { resolveConfig } from "../config/config.ts";
import type { StepArguments } from "../sampling/step-arguments.ts";
import { checkDemonstrations } from "../supervised/lessons.ts";
import { stepParts } from "./step-parts.ts";

const chat = testChat("plain");
const world = (demonstrate: boolean) =>
  defineEnvironment({
    name: "sums",
    tasks: { train: [{ prompt: "2 + 2?" }, { prompt: "3 + 3?" }] },
    start: () => ({ tools: [], reward: () => 0 }),
    ...(demonstrate && {
      demonstrate: ({ prompt }: { prompt: string }) => [{ role: "assistant" as const, content: `So ${prompt}` }],
    }),
  });

const algorithm = { kind: "custom", advantage: { kind: "self-distillation" }, update: { kind: "reinforce" } } as const;
const config = resolveConfig({ environment: "sums", algorithm });

async function shown(maxLength: number) {
  const asked: ActionInContext[] = [];
  const warned: string[] = [];
  const engine = {
    info: { maxLength },
    logprobs: async (samples: readonly ActionInContext[]) => {
      asked.push(...samples);
      return samples.map(({ action }) => action.map(() => -1));
    },
  } as unknown as Engine;
  const environment = world(true);
  const args = {
    engine,
    environment,
    chat,
    config,
    onEvent: (event: { message?: string }) => void warned.push(event.message ?? ""),
  };
  const groups = [0, 1].map((index) => ({
    id: `g/${index}`,
    trajectories: [0, 1].map((i) => trajectoryOf(`g/${index}/${i}`, { task: `train/${index}` })),
  }));
  const tasks = await Promise.all([0, 1].map((index) => environment.task("train", index)));
  const parts = stepParts(args as unknown as StepArguments, { trained: groups, chosen: tasks }, 4);
  const scores = present(await factsOf(config.algorithm).teacher?.(parts), "a teacher");
  await scores(groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns)));
  return { asked: asked.map(({ context, action }) => [[...context], [...action]] as const), warned };
}

test("the whole demonstration of the own task stands before every context, and the actions stay", async () => {
  const { asked, warned } = await shown(1000);
  expect(warned).toEqual([]);
  expect(asked.map(([, action]) => action)).toEqual(
    [0, 1, 2, 3].flatMap(() => [
      [3, 4, 5],
      [1, 2],
    ]),
  );
  const texts = asked.map(([context]) => chat.tokenizer.decode(context));
  expect(texts[0]).toContain("2 + 2?");
  expect(texts[0]).toContain("So 2 + 2?<|im_end|>");
  expect(texts[0]).not.toContain("3 + 3?");
  expect(texts[7]).toContain("So 3 + 3?<|im_end|>");
  expect([asked[0]?.[0].slice(-2), asked[1]?.[0].slice(-6)]).toEqual([
    [1, 2],
    [1, 2, 3, 4, 5, 6],
  ]);
});

test("a context without room for the demonstration is scored as it is, and a warning counts it", async () => {
  const [first] = (await shown(1000)).asked;
  const { asked, warned } = await shown((first?.[0].length ?? 0) + 3);
  expect(asked.map(([context]) => context.length > 6)).toEqual([0, 1, 2, 3].flatMap(() => [true, false]));
  expect(warned).toHaveLength(1);
  expect(warned[0]).toContain("Step 4: 4 of 8 contexts leave no room for a demonstration");
});

test("an environment without demonstrations is refused before a model is loaded", () => {
  expect(() => checkDemonstrations(config, world(true))).not.toThrow();
  expect(() => checkDemonstrations(config, world(false))).toThrow(ConfigError);
  expect(() => checkDemonstrations(config, world(false))).toThrow('environment.name is "sums"; expected one that demonstrates');
});
