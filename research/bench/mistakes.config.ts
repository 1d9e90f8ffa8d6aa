/**
 * An environment with one mistake of a newcomer, chosen by the variable MISTAKE: see mistakes.ts. As it would be without a mistake it is in
 * `calendar`.
 */
import { defineConfig, defineEnvironment, defineTool } from "retrograde-rl";
import { z } from "zod";
import { z as z3 } from "zod3";

type Any = Record<string, unknown>;
interface Parts {
  readonly execute?: (time: string) => unknown;
  readonly reward?: (time: string) => unknown;
  readonly tool?: Any;
  readonly [part: string]: unknown;
}

const events = (title: string, time: string) => (title === "Demo" ? [{ id: "e10", day: "Friday", time }] : []);
const prompt = "When do I have Demo?";

/** Newcomers may write JavaScript, which no compiler checks. */
function calendar({ execute, reward, tool, ...parts }: Parts) {
  const find = (time: string) => ({
    name: "find_event",
    description: "Events of this title.",
    parameters: z.object({ title: z.string() }),
    execute: execute?.(time) ?? (({ title }: { title: string }) => events(title, time)),
    ...tool,
  });
  return defineEnvironment({
    name: "mistake",
    system: "You help with a calendar. Tools: find_event(title).",
    tasks: (random: { integer(below: number): number }) => ({ prompt, time: `${10 + random.integer(8)}:30` }),
    start: ({ time }: { time: string }) => ({
      tools: [defineTool(find(time) as never)],
      reward: reward?.(time) ?? (({ answer }: { answer: string }) => (answer.includes(time) ? 1 : 0)),
    }),
    ...parts,
  } as never);
}

type Said = { readonly answer: string };
const returning = (result: (time: string) => unknown) => () => calendar({ execute: (time) => () => result(time) });
const rewarding = (reward: (said: Said, time: string) => unknown) => () =>
  calendar({ reward: (time) => (said: Said) => reward(said, time) });
const withTasks = (tasks: unknown) => () => calendar({ tasks });

export const mistakes: Readonly<Record<string, readonly [what: string, make: () => unknown]>> = {
  fine: ["no mistake", () => calendar({})],
  rewardText: ['the reward is text: `"1"`', rewarding(({ answer }, time) => (answer.includes(time) ? "1" : "0"))],
  rewardBoolean: ["the reward is `true` or `false`", rewarding(({ answer }, time) => answer.includes(time))],
  rewardUndefined: ["the reward has no `return`", rewarding(({ answer }, time) => void answer.includes(time))],
  rewardNaN: ["the reward is `NaN`", rewarding(() => Number.NaN)],
  rewardThrows: [
    "the reward throws for wrong answers",
    rewarding(({ answer }, time) => {
      if (!answer.includes(time)) throw new Error("no answer found");
      return 1;
    }),
  ],
  rewardConstant: ["the reward is always 1", rewarding(() => 1)],
  rewardForgotAwait: [
    "an `await` is missing in the reward: `check() ? 1 : 0`",
    rewarding(() => (((async () => false)() as unknown) ? 1 : 0)),
  ],
  rewardNegative: ["rewards from -1 to 0", rewarding(({ answer }, time) => (answer.includes(time) ? 0 : -1))],
  rewardHuge: ["a reward of 1e12", rewarding(({ answer }, time) => (answer.includes(time) ? 1e12 : 0))],
  rewardHangs: ["the reward never answers", rewarding(() => new Promise(() => {}))],
  rewardOtherName: ["`score` instead of `reward`", () => calendar({ start: () => ({ tools: [], score: () => 1 }) })],
  toolThrows: [
    "the tool throws each time",
    returning(() => {
      throw new Error("ECONNREFUSED 127.0.0.1:5432: is the database running?");
    }),
  ],
  toolThrowsText: [
    "the tool throws text",
    returning(() => {
      throw "boom";
    }),
  ],
  toolForgotAwait: [
    "an `await` is missing in the tool: `{ result: promise }`",
    returning((time) => ({ result: new Promise((resolve) => setTimeout(() => resolve(time), 5)) })),
  ],
  toolStrayRejection: [
    "a promise that nobody awaits is rejected",
    returning((time) => {
      void Promise.reject(new Error("audit log unreachable"));
      return time;
    }),
  ],
  toolTimerThrows: [
    "a timer of the tool throws",
    returning((time) => {
      setTimeout(() => {
        throw new Error("late");
      }, 1);
      return time;
    }),
  ],
  toolLoops: [
    "the tool loops for ever",
    returning(() => {
      for (;;);
    }),
  ],
  toolHangs: ["the tool never answers", () => calendar({ execute: () => () => new Promise(() => {}), tool: { timeoutMs: 200 } })],
  toolExits: ["the tool calls `process.exit(0)`", returning(() => process.exit(0))],
  toolHuge: ["a result of 5,000,000 characters", returning(() => "x".repeat(5_000_000))],
  toolUndefined: ["the tool has no `return`", returning(() => undefined)],
  toolNull: ["a result `null`", returning(() => null)],
  toolDate: ["a result with a `Date`", returning((time) => ({ when: new Date(0), time }))],
  toolBigInt: ["a result with a bigint", returning((time) => ({ id: 10n, time }))],
  toolMap: ["a result that is a `Map`", returning((time) => new Map([["time", time]]))],
  toolSet: ["a result that is a `Set`", returning((time) => new Set([time]))],
  toolInstance: [
    "an instance with private fields",
    returning(
      (time) =>
        new (class Event {
          #time = time;
          get time() {
            return this.#time;
          }
        })(),
    ),
  ],
  toolError: ["an `Error` that is returned", returning(() => new Error("not found"))],
  toolCircular: [
    "a result that holds itself",
    returning(() => {
      const whole: Any = {};
      whole.whole = whole;
      return whole;
    }),
  ],
  toolNaN: ["`NaN` and `Infinity` in a result", returning(() => ({ price: Number.NaN, other: Number.POSITIVE_INFINITY }))],
  toolFunction: ["a result that is a function", returning(() => () => 1)],
  toolIterator: ["a result that is an iterator", returning((time) => [time].values())],
  toolAsyncGenerator: [
    "the tool is an async generator",
    () =>
      calendar({
        execute: (time) =>
          async function* () {
            yield time;
          },
      }),
  ],
  toolBytes: ["a result that is a `Buffer`", returning((time) => Buffer.from(time))],
  toolResponse: ["a result that is a `Response`", returning((time) => new Response(time))],
  toolNoExecute: ["a tool without `execute`", () => calendar({ tool: { execute: undefined } })],
  toolTwice: [
    "two tools of one name",
    () => {
      const parameters = z.object({ title: z.string() });
      const tool = defineTool({ name: "find_event", description: "", parameters, execute: () => "x" });
      return calendar({ start: () => ({ tools: [tool, tool], reward: () => 1 }) });
    },
  ],
  toolZod3: ["a schema of zod 3", () => calendar({ tool: { parameters: z3.object({ title: z3.string() }) } })],
  toolDateSchema: [
    "a schema that JSON cannot meet: `z.date()`",
    () => calendar({ tool: { parameters: z.object({ title: z.date() }) } }),
  ],
  stateShared: [
    "state shared by all episodes",
    () => {
      let calls = 0;
      return calendar({ execute: () => () => ({ calls: ++calls }) });
    },
  ],
  tasksList: ["tasks as a list", withTasks([{ prompt, time: "12:30" }])],
  tasksEmpty: ["no tasks", withTasks({ train: [], test: [] })],
  tasksNoTest: [
    "tasks for training alone",
    withTasks({
      train: [
        { prompt, time: "12:30" },
        { prompt, time: "13:30" },
      ],
    }),
  ],
  tasksNoPrompt: ["`question` instead of `prompt`", withTasks(() => ({ question: "When?", time: "12:30" }))],
  tasksPromptNumber: ["a prompt that is a number", withTasks(() => ({ prompt: 42, time: "12:30" }))],
  tasksAsync: ["tasks made asynchronously", withTasks(async () => ({ prompt, time: "12:30" }))],
  tasksThrow: [
    "making a task throws",
    withTasks(() => {
      throw new Error("no file tasks.jsonl");
    }),
  ],
  tasksMathRandom: [
    "tasks drawn with `Math.random`",
    withTasks(() => ({ prompt, time: `${10 + Math.floor(Math.random() * 8)}:30` })),
  ],
  startThrows: [
    "`start` throws",
    () =>
      calendar({
        start: () => {
          throw new Error("database is locked");
        },
      }),
  ],
  startNoTools: ["`start` without `tools`", () => calendar({ start: () => ({ reward: () => 1 }) })],
  startNothing: ["`start` has no `return`", () => calendar({ start: () => {} })],
  nameSlash: ["a name with a path: `../../evil`", () => calendar({ name: "../../evil" })],
  replyForever: [
    "a `reply` that never ends",
    () => calendar({ start: () => ({ tools: [], reply: () => "go on", reward: () => 1 }) }),
  ],
};

export default defineConfig({
  environment: mistakes[process.env.MISTAKE ?? "fine"][1]() as never,
  model: "bundled:office",
  algorithm: "grpo",
  steps: 2,
  engine: { threads: 1 },
  rollout: { tasksPerStep: 2, groupSize: 4, maxTurns: 4, maxTokens: 40, episodeTimeoutMs: 15_000 },
  evaluation: { tasks: 4, k: 1, greedy: false },
});
