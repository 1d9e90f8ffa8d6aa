import { expect, test } from "vitest";
import { EpisodeStop } from "../core/episode-stop.ts";
import { EngineError, ModelError } from "../core/errors.ts";
import type { Turn } from "../core/trajectory.ts";
import type { Environment, Played, TokenPolicy } from "../environments/environment.ts";
import type { Actor } from "./actors/actor.ts";
import type { RolloutOptions } from "./options.ts";
import { playedBySelf } from "./self-played.ts";

const turnOf = (turn: number, more: Partial<Turn> = {}): Turn => ({
  ...{ trajectory: "r/0", turn, context: [1], action: [2], samplerLogprobs: [-1], entropies: [1], weightVersion: 0 },
  ...{ truncated: false, rewritten: false, toolCalls: 0, invalidToolCalls: 0, ...more },
});

interface Scene {
  readonly sample?: () => Promise<unknown>;
  readonly converse?: () => Promise<unknown>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Turns that were played before the program answers. */
  readonly turns?: readonly Turn[];
}

/** An episode of a program, on a policy whose answers are given. */
async function played(program: (policy: TokenPolicy) => unknown, scene: Scene = {}) {
  const released: string[] = [];
  let over: AbortSignal | undefined;
  const actor: Actor = {
    begin: () => expect.unreachable("nobody begins"),
    policy: (_, turns, signal) => {
      over = signal;
      turns.push(...(scene.turns ?? [turnOf(0)]));
      const policy = { sample: scene.sample ?? (async () => "sampled"), converse: scene.converse ?? (async () => "said") };
      return policy as unknown as TokenPolicy;
    },
    release: (id) => released.push(id),
  };
  const environment = { name: "own", size: () => 1, task: () => ({ id: "t" }), start: () => expect.unreachable() } as Environment;
  const options: RolloutOptions = {
    ...{ id: "r/0", group: "r", seed: 1, maxTurns: 9, maxTokens: 9, episodeTimeoutMs: scene.timeoutMs ?? 1_000 },
    ...(scene.signal === undefined ? {} : { signal: scene.signal }),
  };
  const play = async (_: unknown, given: TokenPolicy) => (await program(given)) as Played;
  const task = { id: "t", kind: "k", scenario: "s" };
  const ended = await playedBySelf(actor, environment, play, task, options).catch((error: unknown) => error);
  return { ended, released, over };
}
const fine: Played = { messages: [{ role: "user", content: "hi" }], score: { reward: 0.5 } };
const whole = { id: "r/0", group: "r", task: "t", kind: "k", scenario: "s" };
const failed = (stopReason: string, error?: string) => ({
  ...{ ...whole, turns: [turnOf(0)], messages: [], reward: 0, scores: {}, stopReason },
  ...(error === undefined ? {} : { error }),
});

test("an episode that plays by itself is what its program answers, and is over then", async () => {
  const { ended, released, over } = await played(async (policy) => {
    expect([await policy.sample({} as never), await policy.converse({} as never)]).toEqual(["sampled", "said"]);
    return { ...fine, score: { reward: 0.5, scores: { a: 1 } } };
  });
  expect(ended).toEqual({
    ...{ ...whole, turns: [turnOf(0)], messages: fine.messages, reward: 0.5, scores: { a: 1 }, stopReason: "done" },
  });
  expect(released).toEqual(["r/0"]);
  expect(over?.reason).toEqual(new EpisodeStop("done", "the episode is over"));
});

test("turns that the program leaves out are none; answer and fault are kept, and a cut last action is a limit", async () => {
  const turns = [turnOf(0), turnOf(1, { action: [7] }), turnOf(2, { truncated: true })];
  const { ended } = await played(() => ({ ...fine, without: [0], answer: { value: 3 }, fault: "half" }), { turns });
  expect(ended).toMatchObject({
    turns: [
      { turn: 0, action: [7] },
      { turn: 1, truncated: true },
    ],
    ...{ answer: { value: 3 }, error: "half", stopReason: "max-tokens" },
  });
  expect((await played(() => fine, { turns: turns.slice(0, 2) })).ended).not.toHaveProperty("answer");
  expect((await played(() => fine, { turns: turns.slice(0, 2) })).ended).not.toHaveProperty("error");
});

test("a program that asks for nothing, scores nothing or throws has failed, with the reason", async () => {
  const none = { turns: [] };
  expect((await played(() => fine, none)).ended).toMatchObject({
    ...failed("environment-error", "play ended without asking for an action"),
    turns: [],
  });
  expect((await played(() => ({ ...fine, fault: "no model" }), none)).ended).toMatchObject({ error: "no model" });
  expect((await played(() => ({ ...fine, score: { reward: Number.NaN } }))).ended).toEqual(
    failed("invalid-reward", "score gave reward NaN, which is not a finite number"),
  );
  expect((await played(() => Promise.reject(new Error("bug")))).ended).toEqual(failed("environment-error", "play: bug"));
  const slow = await played(() => new Promise(() => {}), { timeoutMs: 5 });
  expect(slow.ended).toEqual(
    failed("environment-timeout", "play: no answer within 5 ms (rollout.episodeTimeoutMs, between two requests to the model)"),
  );
  expect(slow.released).toEqual(["r/0"]);
});

test("the first limit that the program met is the episode's end, whatever the program makes of it", async () => {
  const limits = [new EpisodeStop("max-turns", "no more turns"), new EpisodeStop("max-tokens", "no room")];
  const scene = () => {
    let asked = 0;
    return { sample: () => Promise.reject(limits[asked++]) };
  };
  const twice = async (policy: TokenPolicy) => {
    for (let i = 0; i < 2; i++) await policy.sample({} as never).catch(() => {});
  };
  const hidden = await played(async (policy) => {
    await twice(policy);
    return fine;
  }, scene());
  expect(hidden.ended).toMatchObject({ reward: 0.5, stopReason: "max-turns" });
  const thrown = await played((policy) => policy.sample({} as never), scene());
  expect(thrown.ended).toEqual(failed("max-turns", "no more turns"));
  const own = await played(async (policy) => {
    await twice(policy);
    throw new Error("gave up");
  }, scene());
  expect(own.ended).toEqual(failed("max-turns", "play: gave up"));
  const stopped = await played(async (policy) => {
    await twice(policy);
    throw new EpisodeStop("environment-error", "another");
  }, scene());
  expect(stopped.ended).toEqual(failed("max-turns", "another"));
});

test("a sampler that breaks ends the run, also where the program hides it; a refused conversation is the program's fault", async () => {
  const broken = new EngineError("the engine", "broken");
  for (const name of ["sample", "converse"] as const) {
    const scene = { [name]: () => Promise.reject(broken) };
    expect((await played((policy) => policy[name]({} as never), scene)).ended).toBe(broken);
    const hidden = await played(async (policy) => {
      await policy[name]({} as never).catch(() => {});
      return fine;
    }, scene);
    expect(hidden.ended).toBe(broken);
    expect(hidden.released).toEqual(["r/0"]);
  }
  const refused = { converse: () => Promise.reject(new ModelError("the template", "refused")) };
  expect((await played((policy) => policy.converse({} as never), refused)).ended).toEqual(
    failed("environment-error", 'play: the template is "refused".'),
  );
  const odd = { sample: () => Promise.reject(new TypeError("odd")) };
  expect((await played((policy) => policy.sample({} as never), odd)).ended).toEqual(new TypeError("odd"));
});

test("an interruption cancels the episode; what its policy throws then breaks nothing", async () => {
  const stop = new AbortController();
  const scene = { signal: stop.signal, sample: () => Promise.reject(new EngineError("the engine", "stopped")) };
  const { ended } = await played((policy) => {
    stop.abort(new Error("enough"));
    return policy.sample({} as never);
  }, scene);
  expect(ended).toEqual(failed("cancelled"));
});

test("an actor without tokens cannot play it", async () => {
  const actor = { release: () => {} } as unknown as Actor;
  const options: RolloutOptions = { id: "r/0", group: "r", seed: 1, maxTurns: 9, maxTokens: 9, episodeTimeoutMs: 1_000 };
  const play = async () => fine;
  await expect(playedBySelf(actor, { name: "own" } as Environment, play, { id: "t" }, options)).rejects.toThrow(
    new EngineError('the environment "own"', "a chat endpoint", {
      expected: "an engine that samples tokens",
      hint: "Its program asks for actions in token ids.",
    }),
  );
});
