import "../install.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../../src/environments/define.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { checkEnvironment } from "./check.ts";

const { rollout } = resolveConfig();

test("a hole in a world is found: refusing everything is right in half of its tasks", async () => {
  const parameters = z.object({ size: z.int() });
  const rooms = defineEnvironment({
    name: "rooms",
    tasks: (random) => ({ prompt: `Book a room for ${2 + random.integer(8)}.`, free: random.integer(2) === 1 }),
    start: ({ free }) => {
      let booked = false;
      const execute = () => (free ? { booked: (booked = true) } : { error: "no room is free" });
      return {
        tools: [defineTool({ name: "book", description: "Books a room.", parameters, execute })],
        reward: ({ answer }) => (free ? Number(booked) : Number(answer.includes("cannot"))),
      };
    },
  });
  const { policies } = await checkEnvironment(rooms, { seed: 1, tasks: 60, trainingTasks: 50, rollout });
  const refusing = policies.find(({ name }) => name.startsWith("always refuses"));
  expect(refusing?.success.mean).toBeGreaterThan(0.3);
}, 600_000);

test("without expert, splits or tools the report says what it could not check", async () => {
  const environment = defineEnvironment({
    name: "bare",
    tasks: { train: [{ prompt: "Say yes." }, { prompt: "Say no." }] },
    start: ({ prompt }) => ({ tools: [], reward: ({ answer }) => (answer === prompt ? 1 : 0) }),
  });
  const report = await checkEnvironment(environment, { seed: 1, tasks: 5, trainingTasks: 5, rollout });
  expect(report).toMatchObject({ split: "train", tasks: 2, overlap: [], sizes: { train: 2 } });
  expect(report.policies.find(({ name }) => name === "repeats what the user says")?.success.mean).toBe(1);
  for (const part of ["no validation split", "no test split", "no challenge split", "no expert", "overlap", "No model"])
    expect(report.unchecked.join(" ")).toContain(part);
});

test("tasks of Math.random and state that episodes share are found, and nothing where there is none", async () => {
  const counting = (draw: () => number, next: () => number) =>
    defineEnvironment({
      name: "counting",
      tasks: () => ({ prompt: `Count from ${draw()}` }),
      start: () => ({
        tools: [
          defineTool({ name: "count", description: "Counts on.", parameters: z.object({}), execute: () => ({ n: next() }) }),
        ],
        reward: () => 0,
      }),
    });
  const options = { seed: 1, tasks: 4, trainingTasks: 4, rollout };
  let n = 0;
  const found = async (draw: () => number, next: () => number) =>
    (await checkEnvironment(counting(draw, next), options)).unrepeatable.join("\n");
  expect(
    await found(
      () => 7,
      () => 1,
    ),
  ).toBe("");
  expect(await found(Math.random, () => 1)).toMatch(/^Task 0 of test is another one the second time: .*Count from.* and then/);
  expect(
    await found(
      () => 7,
      () => ++n,
    ),
  ).toMatch(/^The episode of task 0 of test is another one .* from message 2 on: .*\\"n\\":1/);
}, 600_000);

test("chance is the success of naming one of the request's names and numbers", async () => {
  const who = ["Ana", "Ben", "Cleo", "Dörte-Lee"];
  const environment = defineEnvironment({
    name: "who",
    tasks: (random) => ({ prompt: `${who.join(", ")} 1.5`, named: random.pick([...who, "1.5"]) }),
    start: ({ named }) => ({ tools: [], reward: ({ answer }) => Number(answer === named) }),
  });
  const { chance, policies } = await checkEnvironment(environment, { seed: 1, tasks: 300, trainingTasks: 10, rollout });
  expect(Math.abs((chance?.mean ?? 0) - 0.2)).toBeLessThan(0.08); // 3.5 standard errors of 300 draws
  expect(policies.some(({ name }) => name.startsWith("chance"))).toBe(false);
});

test("the overlap of splits is known where an expert returns its own messages alone", async () => {
  const tasks = { train: [{ prompt: "Say yes." }, { prompt: "Say no." }], test: [{ prompt: "Say yes." }, { prompt: "Say so." }] };
  const environment = defineEnvironment({ name: "say", tasks, start: () => ({ tools: [], reward: () => 1 }) });
  const expert = {
    behaviours: [],
    play: () => ({ messages: [{ role: "assistant", content: "yes" } as const], score: { reward: 1 } }),
  };
  const { overlap } = await checkEnvironment({ ...environment, expert }, { seed: 1, tasks: 2, trainingTasks: 2, rollout });
  expect(overlap).toEqual([{ split: "test", texts: 2, shared: 1 }]);
});

test("a policy gets no more turns than an episode allows", async () => {
  const paid = async (turns: number) => {
    const patient = defineEnvironment({
      name: "patient",
      tasks: { train: [{ prompt: "Wait." }] },
      start: () => {
        let asked = 0;
        return {
          tools: [],
          limits: { turns },
          reply: () => (++asked < 3 ? "Wait." : undefined),
          reward: () => Number(asked === 3),
        };
      },
    });
    const { policies } = await checkEnvironment(patient, { seed: 1, tasks: 1, trainingTasks: 1, rollout });
    return policies.some(({ success }) => success.mean > 0);
  };
  expect([await paid(2), await paid(3)]).toEqual([false, true]);
});
