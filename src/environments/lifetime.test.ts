import { expect, test } from "vitest";
import { ConfigError, EnvError } from "../core/errors.ts";
import { observeUserCode } from "../core/user-code.ts";
import { boundedEpisode } from "./bounded.ts";
import type { Environment, Episode } from "./environment.ts";
import { whileEpisode, whileOpen } from "./lifetime.ts";
import { newMessages, oneMessage } from "./protocol.ts";

const never = () => new Promise<never>(() => {});
const limits = { timeoutMs: 10 };

/** An environment that notes what is asked of it. */
function noting(more: Partial<Environment> = {}) {
  const log: string[] = [];
  const environment: Environment = {
    name: "noting",
    size: () => 3,
    task: (_, index) => ({ id: `${index}` }),
    start: () => ({ messages: [], tools: [], reply: () => ({ done: true }), score: () => ({ reward: 1 }) }),
    open: () => void log.push("open"),
    close: () => void log.push("close"),
    ...more,
  };
  return { environment, log };
}

test("an environment is open while one works with it, and closed however that ends", async () => {
  const { environment, log } = noting();
  expect(await whileOpen(environment, limits, async ({ size, name }) => `${name} ${await size("train")}`)).toBe("noting 3");
  expect(log).toEqual(["open", "close"]);
  const broken = new Error("the work broke");
  await expect(whileOpen(environment, limits, () => Promise.reject(broken))).rejects.toBe(broken);
  expect(log).toEqual(["open", "close", "open", "close"]);
});

test("what opening and closing throw is the environment's error; settings that are missing stay theirs", async () => {
  const failing = (name: "open" | "close", error: Error) =>
    whileOpen(noting({ [name]: () => Promise.reject(error) }).environment, limits, async () => "done");
  await expect(failing("open", new Error("no server"))).rejects.toThrow(
    'open of "noting" is no server. The environment\'s own code threw this.',
  );
  await expect(failing("close", new Error("no end"))).rejects.toThrow(
    new EnvError('close of "noting"', new Error("no end"), {
      hint: "The environment's own code threw this.",
    }),
  );
  const missing = new ConfigError("key", undefined);
  await expect(failing("open", missing)).rejects.toBe(missing);
  const { environment } = noting({ close: () => Promise.reject(new Error("no end")) });
  await expect(whileOpen(environment, limits, () => Promise.reject(new Error("the work broke")))).rejects.toThrow(
    "the work broke",
  );
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(whileOpen(noting().environment, { ...limits, signal: stopped }, async () => 1)).rejects.toThrow("stopped");
});

test("answers of an environment are awaited no longer than the limits say, and an episode that comes late is closed", async () => {
  let closed = false;
  let give: (episode: Episode) => void = () => {};
  const late = new Promise<Episode>((resolve) => (give = resolve));
  const { environment } = noting({ size: never, task: never, start: () => late, demonstrate: never });
  await whileOpen(environment, limits, async (bounded) => {
    await expect(bounded.size("train")).rejects.toThrow("no answer within 10 ms");
    await expect(bounded.task("train", 0)).rejects.toThrow("no answer within 10 ms");
    await expect(bounded.demonstrate?.({ id: "0" }, 1)).rejects.toThrow("no answer within 10 ms");
    await expect(bounded.start({ id: "0" }, 1)).rejects.toThrow("no answer within 10 ms");
  });
  give({ close: () => void (closed = true) } as Episode);
  await new Promise((resolve) => setImmediate(resolve));
  expect(closed).toBe(true);
});

test("so are those of an episode, whose other parts stay as they are", async () => {
  const episode: Episode = { messages: [], tools: [], reply: never, score: never, call: never, afterTools: never, close: never };
  const bounded = boundedEpisode(episode, limits);
  expect(bounded.messages).toBe(episode.messages);
  const said = { role: "assistant", content: "" } as const;
  const signal = new AbortController().signal;
  const answers = [
    () => bounded.reply(said),
    () => bounded.score([]),
    () => bounded.call?.({ name: "f", arguments: {} }, { signal }),
    () => bounded.afterTools?.([], said),
    () => bounded.close?.(),
  ];
  for (const answer of answers) await expect(answer()).rejects.toThrow("no answer within 10 ms");
});

test("an episode is closed however the work with it ends; the first failure is the one to report", async () => {
  let closed = 0;
  const of = (close: () => unknown) =>
    noting({
      start: (_, seed) =>
        ({ messages: [], tools: [], reply: () => ({ done: true }), score: () => ({ reward: seed }), close }) as Episode,
    }).environment;
  const counting = of(() => void closed++);
  expect(await whileEpisode(counting, { id: "0" }, 7, async (episode) => episode.score([]))).toEqual({ reward: 7 });
  await expect(whileEpisode(counting, { id: "0" }, 7, () => Promise.reject(new Error("the work broke")))).rejects.toThrow(
    "the work broke",
  );
  expect(closed).toBe(2);
  const broken = of(() => Promise.reject(new Error("no end")));
  await expect(whileEpisode(broken, { id: "0" }, 7, () => "done")).rejects.toThrow("no end");
  await expect(whileEpisode(broken, { id: "0" }, 7, () => Promise.reject(new Error("the work broke")))).rejects.toThrow(
    "the work broke",
  );
});

test("protocols in text: answers as messages of the user, or as text behind the action", () => {
  const tool = { role: "tool", name: "f", content: "x" } as const;
  const user = { role: "user", content: "y" } as const;
  expect(newMessages().show([tool, user])).toEqual([{ role: "user", content: "x" }, user]);
  expect(newMessages((text) => `Output: ${text}`).show([tool])).toEqual([{ role: "user", content: "Output: x" }]);
  const write = () => "";
  expect([oneMessage(write), oneMessage(write, 9)]).toEqual([
    { kind: "one-message", write },
    { kind: "one-message", write, maxResponseTokens: 9 },
  ]);
});

test("an environment and an episode without what is optional have none of it when they are bounded", async () => {
  const { open: _, close: __, ...bare } = noting().environment;
  const seen = await whileOpen(bare as Environment, limits, async (bounded) => [
    bounded.open,
    bounded.close,
    bounded.demonstrate,
  ]);
  expect(seen).toEqual([undefined, undefined, undefined]);
  const episode = await bare.start({ id: "0" }, 1);
  const limited = boundedEpisode(episode, limits);
  expect([limited.call, limited.afterTools, limited.close, limited.messages]).toEqual([undefined, undefined, undefined, []]);
  expect(await whileEpisode(bare, { id: "0" }, 1, ({ tools }) => tools)).toEqual([]);
});

test("an error of users' code has the name of its method and its environment", async () => {
  const names: string[] = [];
  const end = observeUserCode({ entered: (name) => names.push(name), left: () => {}, waits: () => {}, settled: () => {} });
  const { environment } = noting();
  await whileOpen(environment, limits, async (bounded) => {
    await bounded.size("train");
    await bounded.task("train", 0);
    const episode = boundedEpisode(await bounded.start({ id: "0" }, 1), limits);
    await episode.reply({ role: "assistant", content: "" });
    await episode.score([]);
  });
  await whileEpisode(environment, { id: "0" }, 1, () => {});
  end();
  expect(names).toEqual([
    ...['open() of "noting"', 'size() of "noting"', 'task() of "noting"', 'start() of "noting"'],
    ...["reply() of the environment", "score() of the environment", 'close() of "noting"', "close() of the environment"],
  ]);
});
