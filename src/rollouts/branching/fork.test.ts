import { expect, test } from "vitest";
import { testChat } from "../../../test/fixtures/chats.ts";
import { EpisodeStop } from "../../core/episode-stop.ts";
import type { Environment, Episode } from "../../environments/environment.ts";
import type { Tool } from "../../tools/tool.ts";
import type { EpisodeState } from "../actors/token-actor.ts";
import { opened } from "../answers.ts";
import { copied, copyOf, forkingOf, replay } from "./fork.ts";

const chat = testChat("plain");
const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  ...{ name, description: "", parameters: { type: "object", properties: {} }, execute: () => "found" },
  ...more,
});
const episodeOf = (more: Partial<Episode> = {}): Episode => ({
  ...{ messages: [{ role: "user", content: "hi" }], tools: [], reply: () => ({ done: true }), score: () => ({ reward: 0 }) },
  ...more,
});
const environmentOf = (more: Partial<Environment> = {}, start: () => Episode = episodeOf): Environment => ({
  ...{ name: "desk", size: () => 1, task: () => ({ id: "t" }), start },
  ...more,
});
const limits = { episodeTimeoutMs: 1000 };

test("an episode is copied where it can be, else replayed where it and its tools say so, else refused with the reason", () => {
  const of = (environment: Partial<Environment>, episode: Partial<Episode>) =>
    forkingOf(environmentOf(environment), opened(episodeOf(episode)));
  expect(of({}, { clone: () => episodeOf() })).toEqual({ by: "clone" });
  expect(of({ replayable: true }, {})).toEqual({ by: "replay" });
  const safe = [tool("a", { replayable: true }), tool("b", { idempotent: true })];
  expect(of({ replayable: true }, { tools: safe })).toEqual({ by: "replay" });
  for (const replayable of [false, undefined])
    expect(of({ replayable }, {})).toEqual({
      refused: 'The environment "desk" has no episodes with `clone`, and does not say that they are `replayable`.',
    });
  for (const more of [{}, { replayable: false }])
    expect(of({ replayable: true }, { tools: [...safe, tool("c", more)] })).toEqual({
      refused:
        'The environment "desk" has no episodes with `clone`, and its tool "c" does not say that it is `replayable` or `idempotent`.',
    });
});

test("a copy is made at once where it can be; what goes wrong is reported by the rollout that was to continue from it", async () => {
  const copy = episodeOf();
  expect(copyOf(episodeOf({ clone: () => copy }), limits)).toEqual({ episode: copy });
  expect(copied({ episode: copy })).toEqual({ episode: copy, tools: [] });
  expect(await copyOf(episodeOf({ clone: async () => copy }), limits)).toEqual({ episode: copy });
  const thrown = () => {
    throw new Error("no memory");
  };
  expect(copyOf(episodeOf({ clone: thrown }), limits)).toEqual({ error: "no memory" });
  expect(await copyOf(episodeOf({ clone: () => Promise.reject(new Error("no memory")) }), limits)).toEqual({
    error: "no memory",
  });
  expect(copyOf(episodeOf({ clone: () => undefined as never }), limits)).toEqual({ error: "there is none" });
  const slow = episodeOf({ clone: () => new Promise(() => {}) });
  expect(await copyOf(slow, { episodeTimeoutMs: 2 })).toEqual({ error: "no answer within 2 ms" });
  expect(() => copied({ error: "no memory" })).toThrow(new EpisodeStop("environment-error", "clone: no memory"));
});

/** A conversation of two turns: a call and its answer, then a message and the environment's reply. */
const call = '<tool_call>{"name": "find", "arguments": {}}</tool_call>';
const state = (answer = "found"): EpisodeState => ({
  context: {} as never,
  turns: [`${call}`, "more"].map((text, turn) => ({ turn, action: chat.tokenizer.encode(`${text}<|im_end|>`) })) as never,
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: {} }] },
    { role: "tool", name: "find", content: answer },
    { role: "assistant", content: "more" },
    { role: "user", content: "go on" },
  ],
});
const options = { id: "r/0", group: "r", seed: 1, maxTurns: 9, maxTokens: 9, ...limits };

test("a replay repeats calls and messages, and continues with the tools that the episode then has", async () => {
  const closed: string[] = [];
  const later = [tool("open")];
  const fresh = () =>
    episodeOf({
      tools: [tool("find")],
      reply: () => ({ done: false, messages: [{ role: "user", content: "go on" }], tools: later }),
      close: () => void closed.push("closed"),
    });
  const live = await replay(environmentOf({}, fresh), { id: "t" }, chat, state(), options);
  expect([live.tools, closed]).toEqual([later, []]);
  const another = replay(environmentOf({}, fresh), { id: "t" }, chat, state("something else"), options);
  await expect(another).rejects.toThrow(
    new EpisodeStop("environment-error", "replay: another answer than before in turn 0, so it cannot be forked by replay"),
  );
  expect(closed).toEqual(["closed"]);
  const greeting = () => ({ ...fresh(), messages: [{ role: "user" as const, content: "hello" }] });
  await expect(replay(environmentOf({}, greeting), { id: "t" }, chat, state(), options)).rejects.toThrow(
    "replay: another answer than before at the start",
  );
  const silent = () => ({ ...fresh(), reply: () => ({ done: true as const }) });
  await expect(replay(environmentOf({}, silent), { id: "t" }, chat, state(), options)).rejects.toThrow("before in turn 1");
  const shorter = () => ({
    ...fresh(),
    reply: () => ({ done: false as const, messages: [{ role: "user" as const, content: "go on" }] }),
  });
  const longer = { ...state(), messages: [...state().messages, { role: "user" as const, content: "now" }] };
  await expect(replay(environmentOf({}, shorter), { id: "t" }, chat, longer, options)).rejects.toThrow("before in its turns");
});
