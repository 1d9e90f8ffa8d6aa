import { expect, test } from "vitest";
import { z } from "zod";
import { type Random, randomStream } from "../core/random.ts";
import { defineTool } from "../tools/tool.ts";
import {
  type DefinedEpisode,
  defineEnvironment,
  type EnvironmentDefinition,
  type EpisodeEnd,
  type TaskRequest,
} from "./define.ts";
import { oneMessage } from "./protocol.ts";

const counter = defineEnvironment({
  name: "counter",
  system: "Count.",
  tasks: (random) => ({ prompt: `Count to ${2 + random.integer(50)}.` }),
  start: () => {
    let count = 0;
    const tool = defineTool({ name: "next", description: "Counts", parameters: z.object({}), execute: () => ++count });
    return { tools: [tool], reward: ({ answer }) => (answer === String(count) ? 1 : 0) };
  },
});

test("an episode starts with the system message and the request, and ends with the first answer", async () => {
  const task = await counter.task("test", 3);
  const episode = await counter.start(task, 1);
  expect(episode.messages).toEqual([
    { role: "system", content: "Count." },
    { role: "user", content: task.request.prompt },
  ]);
  expect(await episode.reply({ role: "assistant", content: "1" })).toEqual({ done: true });
});

test("episodes share no state, and the reward reads the last answer", async () => {
  const task = await counter.task("train", 0);
  const [first, second] = [await counter.start(task, 1), await counter.start(task, 1)];
  const signal = new AbortController().signal;
  first.tools[0].execute({}, { signal });
  first.tools[0].execute({}, { signal });
  const conversation = [{ role: "assistant", content: "7" } as const, { role: "assistant", content: "2" } as const];
  expect(await first.score(conversation)).toEqual({ reward: 1 });
  expect(await second.score(conversation)).toEqual({ reward: 0 });
});

test("made-up tasks are the same each time, and other ones in other splits", async () => {
  const prompts = async (split: "train" | "test") =>
    Promise.all(Array.from({ length: 20 }, async (_, i) => (await counter.task(split, i)).request.prompt));
  expect(await prompts("train")).toEqual(await prompts("train"));
  expect(await prompts("test")).not.toEqual(await prompts("train"));
  expect(counter.size("train")).toBe(Number.POSITIVE_INFINITY);
});

test("listed tasks make up the splits that they are listed for", async () => {
  const listed = defineEnvironment({
    name: "listed",
    tasks: { train: [{ prompt: "one" }, { prompt: "two", kind: "even" }] },
    start: () => ({ tools: [], reward: () => ({ reward: 0.5, scores: { brevity: 1 } }) }),
  });
  expect([listed.size("train"), listed.size("test")]).toEqual([2, 0]);
  const task = await listed.task("train", 1);
  expect(task).toMatchObject({ id: "train/1", kind: "even" });
  const episode = await listed.start(task, 0);
  expect(episode.messages).toEqual([{ role: "user", content: "two" }]);
  expect(await episode.score([])).toEqual({ reward: 0.5, scores: { brevity: 1 } });
});

test("a list of tasks alone is to train on", async () => {
  const environment = defineEnvironment({ name: "own", tasks: [{ prompt: "one" }], start: () => ({ tools: [] }) });
  expect(environment.splits).toEqual(["train"]);
  expect(await environment.task("train", 0)).toMatchObject({ id: "train/0", request: { prompt: "one" } });
});

test("a property that nothing reads is refused where it stands, with the place where it belongs", async () => {
  const tasks = { train: [{ prompt: "one" }] };
  const start = () => ({ tools: [], reward: () => 1 });
  // As plain JavaScript, or a definition of type any, lets them through.
  const define = (definition: object) => () => defineEnvironment(definition as Parameters<typeof defineEnvironment>[0]);
  expect(define({ name: "own", tasks, start, reward: () => 1 })).toThrow(/reward.*belongs to what start\(\) returns/s);
  expect(define({ name: "own", tasks, start, systm: "Be kind." })).toThrow(/systm.*Did you mean "?system/s);
  const misspelt = define({ name: "own", tasks, start: () => ({ tools: [], rewards: () => 1 }) })();
  await expect(async () => misspelt.start(await misspelt.task("train", 0), 1)).rejects.toThrow(/rewards.*reward/s);
  class Desk {
    readonly tools = [];
    count = 0;
    reward = () => 1;
  }
  const own = defineEnvironment({ name: "own", tasks, start: () => new Desk() });
  expect(await (await own.start(await own.task("train", 0), 1)).score([])).toEqual({ reward: 1 });
});

test("two tools of one name are refused: those of two MCP servers, for instance", async () => {
  const tool = { name: "search", description: "", parameters: { type: "object" }, execute: () => "" } as const;
  const start = () => ({ tools: [tool, { ...tool }], reward: () => 1 });
  const own = defineEnvironment({ name: "own", tasks: [{ prompt: "one" }], start });
  await expect(async () => own.start(await own.task("train", 0), 1)).rejects.toThrow(/a tool of .* is "search".*Rename one/);
});

test.each(["../../evil", "a/b", "a\\b", "..", "", "a\u202eb", "x".repeat(101)])("%j is no name", (name) => {
  expect(() => defineEnvironment({ name, tasks: [], start: () => ({ tools: [] }) })).toThrow(
    /name of the environment is .*no path/,
  );
});

const tasks = { train: [{ prompt: "one" }] };
const signal = new AbortController().signal;
const begun = async (definition: Partial<EnvironmentDefinition<TaskRequest>>) => {
  const own = defineEnvironment({ name: "own", tasks, start: () => ({ tools: [] }), ...definition });
  return own.start(await own.task("train", 0), 1);
};
/** An episode of what plain JavaScript may give. */
const startedWith = (given: unknown, more: object = {}) =>
  begun({ start: () => given as DefinedEpisode, ...more } as Partial<EnvironmentDefinition<TaskRequest>>);

test("an environment has what its definition says, and nothing of what it leaves out", async () => {
  const log: string[] = [];
  const all = defineEnvironment({
    ...{ name: "all", system: "S", tasks: { own: [{ prompt: "p", kind: "k" }] }, concurrency: 3, turnRewards: true },
    replayable: false,
    start: () => ({ tools: [] }),
    demonstrate: (_, random) => [{ role: "assistant", content: `${random.integer(1)}` }],
    open: () => void log.push("open"),
    close: () => void log.push("close"),
  });
  expect(all).toMatchObject({ name: "all", replayable: false, splits: ["own"], concurrency: 3, turnRewards: true });
  expect(await all.demonstrate?.(await all.task("own", 0), 1)).toEqual([
    ...[
      { role: "system", content: "S" },
      { role: "user", content: "p" },
      { role: "assistant", content: "0" },
    ],
  ]);
  await all.open?.();
  await all.close?.();
  expect(log).toEqual(["open", "close"]);
  const bare = defineEnvironment({ name: "bare", tasks, start: () => ({ tools: [] }) });
  expect(Object.keys(bare).sort()).toEqual(["close", "name", "open", "replayable", "size", "splits", "start", "task"]);
  expect([bare.replayable, await bare.open?.(), await bare.close?.()]).toEqual([true, undefined, undefined]);
});

test("lists may be loaded, once; a task that is none is named with its place", async () => {
  let loads = 0;
  const own = defineEnvironment({
    name: "own",
    tasks: { later: async () => [{ prompt: `loaded ${++loads}` }, { prompt: 5 }, "text"] as never },
    start: () => ({ tools: [] }),
  });
  expect([await own.size("later"), own.size("train"), own.size("toString")]).toEqual([3, 0, 0]);
  expect((await own.task("later", 0)).request.prompt).toBe("loaded 1");
  await expect(own.task("later", 1)).rejects.toThrow("prompt of task 1 of the later split is 5; expected a text.");
  await expect(own.task("later", 2)).rejects.toThrow(
    'task 2 of the later split is "text"; expected an object with a `prompt`, which the model reads.',
  );
  await expect(own.task("later", 9)).rejects.toThrow("task 9 of the later split is missing");
  await expect(own.task("none", 0)).rejects.toThrow("task 0 of the none split is missing");
  const made = defineEnvironment({
    name: "made",
    tasks: (random) => ({ prompt: `${random.uniform()}` }),
    start: () => ({ tools: [] }),
  });
  expect([made.splits, made.size("challenge"), made.size("validation")]).toEqual([
    ...[["train", "validation", "test"], 0, Number.POSITIVE_INFINITY],
  ]);
});

test("an episode passes on what it has: limits, protocol, calls, tools, a copy and its end", async () => {
  const log: unknown[] = [];
  const protocol = { actions: {} as never, continuation: oneMessage((answers) => `[${answers[0]?.content}]`) };
  let ends: unknown;
  const started = (): DefinedEpisode => ({
    ...{ tools: [], protocol, limits: { turns: 3 } },
    call: (call, { signal: given }) => {
      log.push([call.name, given === signal]);
      return "called";
    },
    afterTools: (answers, action) => ({ reward: answers.length, done: action.content === "end" }),
    reply: ({ content }) =>
      content === "end" ? undefined : content === "more" ? "go on" : { done: false, messages: [], reward: 2 },
    reward: (end) => {
      ends = end;
      return 1;
    },
    clone: started,
    close: () => void log.push("closed"),
  });
  const episode = await startedWith(started());
  expect([episode.limits, episode.protocol, episode.tools]).toEqual([{ turns: 3 }, protocol, []]);
  expect(await episode.call?.({ name: "f", arguments: {} }, { signal })).toBe("called");
  expect(await episode.afterTools?.([], { role: "assistant", content: "end" })).toEqual({ reward: 0, done: true });
  const said = (content: string) => ({ role: "assistant", content }) as const;
  expect([await episode.reply(said("end")), await episode.reply(said("more")), await episode.reply(said("x"))]).toEqual([
    { done: true },
    { done: false, messages: [{ role: "user", content: "go on" }] },
    { done: false, messages: [], reward: 2 },
  ]);
  const conversation = [...episode.messages, said("a"), { role: "tool", name: "f", content: "b" } as const, said("c")];
  expect(await episode.score(conversation)).toEqual({ reward: 1 });
  expect(ends).toEqual({ answer: "c", conversation, response: "a[b]c" });
  const copy = await episode.clone?.();
  expect(copy?.messages).toEqual(episode.messages);
  await copy?.close?.();
  expect(log).toEqual([["f", true], "closed"]);
  const bare = await begun({});
  expect(Object.keys(bare).sort()).toEqual(["close", "messages", "reply", "score", "tools"]);
  expect([await bare.reply(said("x")), await bare.score([]), await bare.close?.()]).toEqual([
    { done: true },
    { reward: 0 },
    undefined,
  ]);
});

test("the answer of an episode without an answer is empty; a reward of another form is refused with what to write", async () => {
  let answer: unknown;
  const empty = await startedWith({ tools: [], reward: (end: EpisodeEnd) => Number((answer = end.response)) });
  await empty.score([{ role: "user", content: "x" }]);
  expect(answer).toBe("");
  const refused = async (value: unknown) => {
    const episode = await startedWith({ tools: [], reward: () => value });
    return Promise.resolve(episode.score([])).catch((error: Error) => error.message);
  };
  const expected = "expected a number, or an object with `reward` and `scores`.";
  expect(await refused(undefined)).toBe(`what reward() returned is missing; ${expected} Is a \`return\` missing?`);
  expect(await refused(true)).toBe(`what reward() returned is true; ${expected} Write \`condition ? 1 : 0\`.`);
  expect(await refused("1")).toBe(`what reward() returned is "1"; ${expected}`);
  expect(await refused({ scores: {} })).toBe(`what reward() returned is {"scores":{}}; ${expected}`);
  expect(await refused(null)).toBe(`what reward() returned is null; ${expected}`);
});

test.each<[unknown, string]>([
  [undefined, "what start() returned is missing; expected an object with `tools` and `reward`."],
  [null, "what start() returned is null"],
  [{ reward: () => 1 }, "tools of what start() returned is missing; expected a list of tools. Without tools write `tools: []`."],
  [{ tools: {} }, "tools of what start() returned is {}; expected a list of tools"],
  [
    { tools: [], role: "a" },
    'role of what start() returned is "a"; expected none: defineEnvironment has no `roles`. It is the role',
  ],
  [{ tools: [], reward: { a: () => 1 } }, "expected none: defineEnvironment has no `roles`."],
])("start() that returns %j is refused, and what it holds is closed", async (given, message) => {
  let closed = false;
  const started = typeof given === "object" && given !== null ? { ...given, close: () => void (closed = true) } : given;
  await expect(startedWith(started)).rejects.toThrow(message);
  await new Promise((resolve) => setImmediate(resolve));
  expect(closed).toBe(started !== given);
});

test("roles: each has a reward, their mean is the episode's, and one of them acts first", async () => {
  const roles = ["buyer", "seller"];
  const reward = { buyer: () => 1, seller: async () => 0.5 };
  const own = defineEnvironment({ name: "own", tasks, roles, start: () => ({ tools: [], role: "buyer", reward }) });
  expect([own.roles, own.metrics]).toEqual([roles, ["reward:buyer", "reward:seller"]]);
  const episode = await own.start(await own.task("train", 0), 1);
  expect(episode.role).toBe("buyer");
  expect(await episode.score([])).toEqual({ reward: 0.75, scores: { "reward:buyer": 1, "reward:seller": 0.5 } });
  const refused = (given: object) => startedWith({ tools: [], role: "buyer", reward, ...given }, { roles });
  await expect(refused({ role: undefined })).rejects.toThrow(
    'role of what start() returned is missing; expected "buyer" or "seller". It is the role that acts first.',
  );
  await expect(refused({ role: "judge" })).rejects.toThrow('role of what start() returned is "judge"');
  await expect(refused({ reward: { buyer: reward.buyer } })).rejects.toThrow(
    'reward of role "seller" is missing; expected a function for each of buyer, seller, and for no other: ' +
      "reward: { buyer: (end) => …, seller: (end) => … }.",
  );
  await expect(refused({ reward: { ...reward, judge: () => 1 } })).rejects.toThrow('reward of role "judge" is');
  await expect(refused({ reward: undefined })).rejects.toThrow('reward of role "buyer" is missing');
  await expect(refused({ clone: () => ({}) })).rejects.toThrow("expected none: rollouts with roles do not branch");
});

test.each([["a"], ["a", "a"], ["a", "environment"], ["a", "b c"], ["a", 5], ["a", "x".repeat(41)], "ab"])(
  "the roles %j %j are refused",
  (...given) => {
    const roles = (given.length === 1 && given[0] === "ab" ? "ab" : given) as string[];
    expect(() => defineEnvironment({ name: "own", tasks, roles, start: () => ({ tools: [] }) })).toThrow(
      /roles of the environment is .*; expected two or more names of letters, digits, "-" and "_", each once.*An environment with one role has no `roles`/,
    );
  },
);

test("an environment with roles has no demonstrations", () => {
  const definition = { name: "own", tasks, roles: ["a", "b"], start: () => ({ tools: [] }), demonstrate: () => [] };
  expect(() => defineEnvironment(definition)).toThrow("expected none: a demonstration is one conversation");
});

test("a split of no list has no tasks, and methods keep the object that they are of", async () => {
  const own = defineEnvironment({ name: "own", tasks: { train: undefined } as never, start: () => ({ tools: [] }) });
  expect([own.splits, own.size("train")]).toEqual([["train"], 0]);
  class Desk {
    readonly tools = [];
    readonly name: string;
    constructor(name: string) {
      this.name = name;
    }
    call() {
      return this.name;
    }
    afterTools() {
      return { done: this.name === "first" };
    }
    clone() {
      return new Desk(`${this.name} again`);
    }
  }
  const episode = await startedWith(new Desk("first"));
  const call = { name: "f", arguments: {} };
  const copy = await episode.clone?.();
  expect(await Promise.all([episode, copy].map((each) => each?.call?.(call, { signal })))).toEqual(["first", "first again"]);
  expect(await episode.afterTools?.([], { role: "assistant", content: "" })).toEqual({ done: true });
  const drawn: number[] = [];
  const drawing = defineEnvironment({
    ...{
      name: "drawing",
      tasks,
      start: (_: TaskRequest, random: Random) => ({ tools: [], limits: { turns: 1 + random.integer(1000) } }),
    },
    demonstrate: (_, random) => [{ role: "assistant", content: String(1 + random.integer(1000)) }],
  });
  const task = await drawing.task("train", 0);
  for (const seed of [1, 1, 2]) {
    drawn.push((await drawing.start(task, seed)).limits?.turns ?? 0);
    // What is demonstrated draws as the episode does.
    expect((await drawing.demonstrate?.(task, seed))?.at(-1)?.content).toBe(String(drawn.at(-1)));
  }
  expect([drawn[0] === drawn[1], drawn[0] === drawn[2]]).toEqual([true, false]);
  expect(drawn[0]).toBe(1 + randomStream(1, "episode").integer(1000));
});
