import { getEventListeners } from "node:events";
import { setImmediate as tick } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { randomStream } from "../../../src/core/random.ts";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";
import type { SampleRequest } from "../../../src/engines/engine.ts";
import { LocalEngine } from "../engine.ts";
import { loadModel, type Model } from "../model/model-folder.ts";
import type { LocalAction } from "./row.ts";
import { LocalSampler, type SamplerOptions } from "./sampler.ts";

const folder = new URL("../../../test/golden/models/qwen3", import.meta.url).pathname;
const vocabulary = 300;
/** Prompts, decoding and training multiply matrices of other shapes: float32 sums in another order, of log-probs of size 10. */
const rounding = 5e-5;

let model: Model;
/** Scores what the samplers draw. */
let trainer: LocalEngine;
const samplers: LocalSampler[] = [];

beforeAll(async () => {
  model = await loadModel(folder);
  trainer = new LocalEngine(model, { model: folder, threads: 1 });
});
afterAll(async () => {
  await Promise.all(samplers.map((sampler) => sampler.close()));
  await trainer.dispose();
});

function makeSampler(options: Partial<SamplerOptions> = {}): LocalSampler {
  const parameters = new Map([...model.parameters].map(([name, { data }]) => [name, data]));
  const defaults = { threads: 1, slots: 32, maxLength: 512, cacheBytes: 2 ** 24, decode: undefined };
  const sampler = new LocalSampler(model.config, parameters, 0, { ...defaults, ...options });
  samplers.push(sampler);
  return sampler;
}

function randomTokens(length: number, ...names: (string | number)[]): TokenId[] {
  const random = randomStream(1, ...names);
  return Array.from({ length }, () => random.integer(vocabulary));
}

function request(changes: Partial<SampleRequest> = {}): SampleRequest {
  return { context: randomTokens(6, "prompt"), maxTokens: 8, stopTokens: [], seed: 1, ...changes };
}

/** Requests of unequal prompts and lengths, some of which share a prompt. */
function mixedRequests(count: number): SampleRequest[] {
  return Array.from({ length: count }, (_, i) => {
    const prompt = i % 3 === 0 ? randomTokens(20, "shared prompt") : randomTokens(1 + ((i * 7) % 30), "prompt", i);
    return request({ context: prompt, maxTokens: 3 + (i % 7), seed: i, temperature: [1, 0.7, 1.3][i % 3] });
  });
}

function all(sampler: LocalSampler, requests: readonly SampleRequest[]): Promise<LocalAction[]> {
  return Promise.all(requests.map((each) => sampler.sample(each)));
}

function asSamples(requests: readonly SampleRequest[], actions: readonly LocalAction[]): ActionInContext[] {
  return requests.map(({ context }, i) => ({ trajectory: `${i}`, turn: 0, context, action: actions[i].tokens }));
}

function expectClose(actual: readonly (readonly number[])[], expected: readonly (readonly number[])[]): void {
  expect(actual.map((row) => row.length)).toEqual(expected.map((row) => row.length));
  const distances = actual.flatMap((row, i) => row.map((value, j) => Math.abs(value - expected[i][j])));
  expect(Math.max(...distances)).toBeLessThan(rounding);
}

/** The same tokens, and the same numbers up to rounding: batches of other shapes round differently. */
function expectSame(actual: readonly LocalAction[], expected: readonly LocalAction[]): void {
  expect(actual.map(({ tokens, finish }) => ({ tokens, finish }))).toEqual(
    expected.map(({ tokens, finish }) => ({ tokens, finish })),
  );
  for (const numbers of ["logprobs", "modelLogprobs", "entropies"] as const) {
    expectClose(
      actual.map((action) => action[numbers]),
      expected.map((action) => action[numbers]),
    );
  }
}

/** log softmax(logits / temperature) of all tokens that may follow a context, by the training graph. */
async function distribution(context: readonly TokenId[], temperature: number): Promise<number[]> {
  const samples = Array.from({ length: vocabulary }, (_, token) => ({ trajectory: "", turn: 0, context, action: [token] }));
  return (await trainer.logprobs(samples, { temperature })).map(([logprob]) => logprob);
}

async function untilTokensFlow(sampler: LocalSampler): Promise<void> {
  while (sampler.takeStats().sampledTokens === 0) await tick();
}

describe("log-probs", () => {
  test.each([1, 0.7])("are the trainer's at temperature %d, beside the model's own", async (temperature) => {
    const requests = mixedRequests(12).map((each) => ({ ...each, temperature }));
    const actions = await all(makeSampler(), requests);
    const samples = asSamples(requests, actions);
    const tempered = await trainer.logprobs(samples, { temperature });
    const own = await trainer.logprobs(samples, { temperature: 1 });
    expectClose(
      actions.map(({ logprobs }) => logprobs),
      tempered,
    );
    expectClose(
      actions.map(({ modelLogprobs }) => modelLogprobs),
      own,
    );
  });

  test("are the trainer's for every row of a batch of several temperatures", async () => {
    const requests = mixedRequests(9);
    const actions = await all(makeSampler(), requests);
    const samples = asSamples(requests, actions);
    for (const [i, { temperature = 1 }] of requests.entries()) {
      expectClose([actions[i].logprobs], await trainer.logprobs([samples[i]], { temperature }));
    }
  });

  test("come with the entropy of the tempered distribution", async () => {
    const drawn = await makeSampler().sample(request({ temperature: 0.7, topK: 5, maxTokens: 1 }));
    const logprobs = await distribution(request().context, 0.7);
    expect(drawn.entropies[0]).toBeCloseTo(-logprobs.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0), 4);
  });
});

test("a request that cancels itself and its twin while both draw leaves the others alone", async () => {
  const stops = [new AbortController(), new AbortController()];
  const onToken = () => {
    for (const stop of stops) stop.abort();
  };
  const cancelled = stops.map(({ signal }, i) => request({ signal, seed: i, ...(i === 0 && { onToken }) }));
  const others = [2, 3, 4].map((seed) => request({ seed }));
  const sampler = makeSampler();
  const outcomes = await Promise.allSettled([...cancelled, ...others].map((each) => sampler.sample(each)));
  expect(outcomes.slice(0, 2).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const kept = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  expectSame(kept, await all(makeSampler(), others));
  expect(sampler.takeStats().sampledTokens).toBe(1 + 3 * 8);
});

test("a row that another one's token cancels before it draws leaves its slot to its twin", async () => {
  const stop = new AbortController();
  const first = request({ context: [2, 1], onToken: () => stop.abort() });
  const [holder, twin] = [request({ signal: stop.signal, seed: 1 }), request({ seed: 2 })];
  const sampler = makeSampler();
  const [, cancelled, kept] = await Promise.allSettled([first, holder, twin].map((each) => sampler.sample(each)));
  expect(cancelled?.status).toBe("rejected");
  expectSame(kept?.status === "fulfilled" ? [kept.value] : [], await all(makeSampler(), [twin]));
});

test("tokens are drawn as often as the model says", async () => {
  const draws = 1500;
  const requests = Array.from({ length: draws }, (_, seed) => request({ maxTokens: 1, seed }));
  const actions = await all(makeSampler({ slots: 128 }), requests);
  const probabilities = (await distribution(request().context, 1)).map(Math.exp);
  // Classes of expected counts of at least 20: the likeliest tokens, and the rest as one.
  const likely = [...probabilities.keys()].filter((token) => probabilities[token] * draws >= 20);
  const counts = likely.map((token) => actions.filter(({ tokens }) => tokens[0] === token).length);
  const classes = likely.map((token, i) => ({ expected: probabilities[token] * draws, count: counts[i] }));
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  classes.push({ expected: draws - sum(classes.map((c) => c.expected)), count: draws - sum(counts) });
  const chiSquare = sum(classes.map(({ expected, count }) => (count - expected) ** 2 / expected));
  const freedom = classes.length - 1;
  expect(freedom).toBeGreaterThan(3);
  // χ² has mean k and variance 2k: 4 deviations leave 1 in 1,000 at most, and the seeds are fixed.
  expect(chiSquare).toBeLessThan(freedom + 4 * Math.sqrt(2 * freedom));
});

describe("a request's seed alone decides its tokens", () => {
  const requests = mixedRequests(21);
  let alone: LocalAction[];
  beforeAll(async () => {
    const sampler = makeSampler({ slots: 1 });
    alone = [];
    for (const each of requests) alone.push(await sampler.sample(each));
  });

  test("beside 20 others", async () => {
    expectSame(await all(makeSampler(), requests), alone);
  });

  test("in the opposite order of arrival", async () => {
    expectSame((await all(makeSampler(), requests.toReversed())).reverse(), alone);
  });

  test("where most have to wait for a slot", async () => {
    expectSame(await all(makeSampler({ slots: 4 }), requests), alone);
  });

  test("where they arrive while others are being sampled", async () => {
    const sampler = makeSampler({ slots: 8 });
    const arriving: Promise<LocalAction>[] = [];
    for (const each of requests) {
      arriving.push(sampler.sample(each));
      await tick();
    }
    expectSame(await Promise.all(arriving), alone);
  });

  test("beside a row many times as long, and while it outgrows its class of lengths", async () => {
    const long = [
      request({ context: randomTokens(300, "long"), maxTokens: 30, seed: 100 }),
      request({ context: randomTokens(60, "growing"), maxTokens: 20, seed: 101 }),
    ];
    const sampler = makeSampler({ slots: 1 });
    const expected = [await sampler.sample(long[0]), await sampler.sample(long[1]), ...alone];
    expectSame(await all(makeSampler({ shortestClass: 64 }), [...long, ...requests]), expected);
    expectSame(await all(makeSampler({ shortestClass: 8, cacheBytes: 0 }), [...long, ...requests]), expected);
  });

  test("and another seed gives other tokens", async () => {
    const [first, second] = await all(makeSampler(), [request({ seed: 1 }), request({ seed: 2 })]);
    expect(first.tokens).not.toEqual(second.tokens);
  });
});

describe("the cache of a conversation", () => {
  const conversations = 4;
  const reply = (conversation: number, turn: number) => randomTokens(5, "reply", conversation, turn);

  /** Three turns of several conversations at once, each context the last one continued. */
  async function converse(sampler: LocalSampler, cached: boolean, prompt = 10): Promise<LocalAction[]> {
    const turns = await Promise.all(
      Array.from({ length: conversations }, async (_, conversation) => {
        const actions: LocalAction[] = [];
        let context = randomTokens(prompt + conversation, "conversation", conversation);
        for (let turn = 0; turn < 3; turn++) {
          const cacheKey = cached ? `${conversation}` : undefined;
          const action = await sampler.sample(request({ context, cacheKey, seed: 10 * conversation + turn }));
          actions.push(action);
          context = [...context, ...action.tokens, ...reply(conversation, turn)];
        }
        return actions;
      }),
    );
    return turns.flat();
  }

  test.each([0, 12_000, 2 ** 24])("changes no result, whether it holds %i bytes", async (cacheBytes) => {
    // One conversation of 10 to 50 tokens takes 1 KiB a token: 0 keeps none, 12,000 some, the last all.
    expectSame(await converse(makeSampler({ cacheBytes }), true), await converse(makeSampler(), false));
  });

  test("holds what rollouts and slots share once where memory is short, and computes nothing twice", async () => {
    const prompt = 210;
    const tokens = conversations * (prompt + 40);
    const cacheBytes = tokens * 2 * 2 * 2 * 32 * 4; // keys and values, layers, heads, sizes, float32
    const measure = async (sampler: LocalSampler) => {
      let [most, running] = [0, true];
      const watch = async () => {
        while (running) {
          most = Math.max(most, sampler.heldBytes);
          await tick();
        }
      };
      const watched = watch();
      const actions = await converse(sampler, true, prompt);
      running = false;
      await watched;
      return { actions, most, computed: sampler.takeStats().prefilledTokens };
    };
    const free = await measure(makeSampler());
    const short = await measure(makeSampler({ cacheBytes }));
    expectSame(short.actions, free.actions);
    expect(short.computed).toBe(free.computed);
    expect(free.most).toBeGreaterThan(1.5 * cacheBytes);
    expect(short.most).toBeLessThan(1.25 * cacheBytes); // slots have room for 64 tokens more at most
  });

  test("saves the computation of all that was in it, until the last rollout is released", async () => {
    const sampler = makeSampler();
    const first = request({ context: randomTokens(20, "long"), cacheKey: "a" });
    const { tokens } = await sampler.sample(first);
    expect(sampler.takeStats()).toMatchObject({ prefilledTokens: 20, sampledTokens: 8 });

    // The last token drawn was never fed: it and the reply are new.
    const second = request({ context: [...first.context, ...tokens, ...reply(0, 0)], cacheKey: "a" });
    await sampler.sample(second);
    expect(sampler.takeStats().prefilledTokens).toBe(1 + 5);

    const { cacheKey: _, ...onlyOnce } = second;
    await sampler.sample(onlyOnce);
    expect(sampler.takeStats().prefilledTokens).toBe(0); // one token is left to feed: a decoding step
    sampler.release("a");
    await sampler.sample(onlyOnce);
    expect(sampler.takeStats().prefilledTokens).toBe(second.context.length);
  });

  test("serves forks: continuations of one rollout compute what is new to each", async () => {
    const sampler = makeSampler();
    const trunk = request({ context: randomTokens(20, "trunk"), cacheKey: "trunk" });
    const { tokens } = await sampler.sample(trunk);
    sampler.takeStats();
    const grown = [...trunk.context, ...tokens];
    const forks = [0, 1, 2].map((i) => request({ context: [...grown, ...reply(i, 0)], cacheKey: `fork ${i}`, seed: i }));
    const actions = await all(sampler, forks);
    expect(sampler.takeStats().prefilledTokens).toBe(3 * (1 + 5));
    expectSame(actions, await all(makeSampler(), forks));
  });

  test("gives way to newer ones where there is no room", async () => {
    const bytesPerToken = 2 * 2 * 2 * 32 * 4; // keys and values, layers, heads, sizes, float32
    const sampler = makeSampler({ cacheBytes: 40 * bytesPerToken });
    const keep = (cacheKey: string) => sampler.sample(request({ context: randomTokens(12, cacheKey), maxTokens: 1, cacheKey }));
    for (const cacheKey of ["a", "b", "c", "d"]) await keep(cacheKey);
    sampler.takeStats();
    await keep("d");
    await keep("c");
    expect(sampler.takeStats().prefilledTokens).toBe(0); // each feeds one token: a decoding step
    await keep("a");
    expect(sampler.takeStats().prefilledTokens).toBe(12);
  });
});

describe("a shared prompt is computed once", () => {
  test("for requests that are equal to it", async () => {
    const sampler = makeSampler();
    await all(
      sampler,
      Array.from({ length: 8 }, (_, seed) => request({ context: randomTokens(20, "group"), seed })),
    );
    expect(sampler.takeStats()).toMatchObject({ prefilledTokens: 20, sampledTokens: 64 });
  });

  test("for requests that end with their first token, the one that computes it included", async () => {
    const sampler = makeSampler();
    const group = Array.from({ length: 8 }, (_, seed) =>
      request({ context: randomTokens(20, "group"), seed, maxTokens: 1, topLogprobs: 2 }),
    );
    const actions = await all(sampler, group);
    expect(sampler.takeStats()).toMatchObject({ prefilledTokens: 20, sampledTokens: 8 });
    const alone = await Promise.all(group.map((each) => makeSampler().sample(each)));
    expectSame(actions, alone);
  });

  test("for requests that continue it differently", async () => {
    const sampler = makeSampler();
    const requests = Array.from({ length: 8 }, (_, i) =>
      request({ context: [...randomTokens(16, "group"), i, ...randomTokens(3, "own", i)] }),
    );
    const actions = await all(sampler, requests);
    expect(sampler.takeStats().prefilledTokens).toBe(20 + 7 * 4);
    expectClose(
      actions.map(({ logprobs }) => logprobs),
      await trainer.logprobs(asSamples(requests, actions), { temperature: 1 }),
    );
  });
});

describe("an action ends", () => {
  const words = (tokens: readonly TokenId[]) => tokens.map((token) => `<${token}>`).join("");
  let free: LocalAction;
  beforeAll(async () => {
    free = await makeSampler().sample(request({ maxTokens: 12 }));
  });

  test("at its token limit", async () => {
    expect(free).toMatchObject({ finish: "length", weightVersion: 0 });
    for (const numbers of ["tokens", "logprobs", "modelLogprobs", "entropies"] as const) expect(free[numbers]).toHaveLength(12);
    const short = await makeSampler().sample(request({ maxTokens: 1 }));
    expect(short).toMatchObject({ tokens: free.tokens.slice(0, 1), finish: "length" });
  });

  test("where the longest sequence is reached", async () => {
    const [action] = await all(makeSampler({ maxLength: 9 }), [request({ maxTokens: 12 })]);
    expect(action).toMatchObject({ tokens: free.tokens.slice(0, 3), finish: "length" });
  });

  test("after a stop token, which belongs to it", async () => {
    const stop = free.tokens[4];
    const end = free.tokens.indexOf(stop) + 1;
    const action = await makeSampler().sample(request({ maxTokens: 12, stopTokens: [free.tokens[11], stop] }));
    expect(action).toMatchObject({ tokens: free.tokens.slice(0, end), finish: "stop" });
    expect(action.logprobs).toHaveLength(end);
  });

  test("once its text contains a stop string, within or across tokens", async () => {
    const sampler = makeSampler({ decode: words });
    for (const stop of [`<${free.tokens[4]}>`, `${free.tokens[3]}><${free.tokens[4]}`]) {
      const end = free.tokens.findIndex((_, i) => words(free.tokens.slice(0, i + 1)).includes(stop)) + 1;
      const action = await sampler.sample(request({ maxTokens: 12, stopStrings: ["never", stop] }));
      expect(action).toMatchObject({ tokens: free.tokens.slice(0, end), finish: "stop" });
    }
  });
});

describe("rows of one history are one row until they draw different tokens", () => {
  const group = (changes: Partial<SampleRequest> = {}) =>
    Array.from({ length: 8 }, (_, seed) => request({ context: randomTokens(20, "group"), maxTokens: 12, seed, ...changes }));

  test.each([0, 0.5, 1, 1.5])("and draw what each would draw alone, at temperature %d", async (temperature) => {
    const requests = group({ temperature }).map((each, i) => ({ ...each, maxTokens: 4 + 2 * (i % 5) }));
    const actions = await all(makeSampler(), requests);
    expectSame(actions, await Promise.all(requests.map((each) => makeSampler().sample(each))));
    const parted = new Set(actions.map(({ tokens }) => tokens.slice(0, 4).join())).size;
    expect(parted).toBeGreaterThanOrEqual(temperature < 1 ? 1 : 2);
  });

  test("and hold less than rows of other histories", async () => {
    const held = async (requests: readonly SampleRequest[]) => {
      const sampler = makeSampler();
      let most = 0;
      const onToken = () => {
        most = Math.max(most, sampler.heldBytes);
      };
      await all(
        sampler,
        requests.map((each) => ({ ...each, onToken })),
      );
      return most;
    };
    const greedy = group({ temperature: 0 });
    const others = greedy.map((each, i) => ({ ...each, context: randomTokens(20, "own", i) }));
    expect(await held(greedy)).toBeLessThanOrEqual((await held(others)) / 2);
  });

  test.each([[[0]], [[3]], [[0, 1, 2]]])("where %j of them are cancelled", async (cancelled) => {
    const sampler = makeSampler();
    const stop = new AbortController();
    let drawn = 0;
    const requests = group({ temperature: 0.05 }).map((each, i) => ({
      ...each,
      ...(cancelled.includes(i) ? { signal: stop.signal } : {}),
      onToken: () => {
        if (++drawn === 20) stop.abort();
      },
    }));
    const outcomes = await Promise.all(requests.map((each) => sampler.sample(each).catch((error: unknown) => error)));
    for (const i of cancelled) expect(outcomes[i]).toBeInstanceOf(EngineError);
    const left = [0, 1, 2, 3, 4, 5, 6, 7].filter((i) => !cancelled.includes(i));
    const alone = await Promise.all(left.map((i) => makeSampler().sample(group({ temperature: 0.05 })[i])));
    expectSame(
      left.map((i) => outcomes[i] as LocalAction),
      alone,
    );
  });
});

describe("cancelling", () => {
  const requests = mixedRequests(6).map((each) => ({ ...each, maxTokens: 12 }));
  let undisturbed: LocalAction[];
  beforeAll(async () => {
    undisturbed = await all(makeSampler(), requests);
  });

  test("frees the slot of a running request and the place of a waiting one, and leaves the others alone", async () => {
    const sampler = makeSampler({ slots: 2 });
    const [running, waiting] = [new AbortController(), new AbortController()];
    const signals: Record<number, AbortSignal> = { 0: running.signal, 4: waiting.signal };
    const outcomes = requests.map((each, i) => sampler.sample({ ...each, signal: signals[i] }).catch((error: unknown) => error));
    await untilTokensFlow(sampler);
    running.abort();
    waiting.abort();
    const results = await Promise.all(outcomes);
    const survivors = [1, 2, 3, 5];
    for (const cancelled of [0, 4]) expect(results[cancelled]).toBeInstanceOf(EngineError);
    expectSame(
      survivors.map((i) => results[i] as LocalAction),
      survivors.map((i) => undisturbed[i]),
    );
  });

  test("before the request is made refuses it", async () => {
    const sampler = makeSampler();
    await expect(sampler.sample({ ...requests[0], signal: AbortSignal.abort() })).rejects.toThrow(/sampling is "cancelled"/);
    expectSame([await sampler.sample(requests[0])], undisturbed.slice(0, 1));
  });

  // Ticks of the event loop decide whether the weights change between two decoding steps or in the middle of one.
  test.each([0, 1, 2])("all requests lets weights change at once, %i ticks later, for all that comes next", async (ticks) => {
    const sampler = makeSampler();
    const { signal, abort } = abortable();
    const outcomes = requests.map((each) => sampler.sample({ ...each, signal }).catch((error: unknown) => error));
    await untilTokensFlow(sampler);
    for (let i = 0; i < ticks; i++) await tick();
    abort();
    const parameters = new Map([...model.parameters].map(([name, { data }]) => [name, data]));
    const updated = sampler.update(parameters, 7);
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toBeInstanceOf(EngineError);
    await updated;
    const next = await sampler.sample(requests[0]);
    expect(next.weightVersion).toBe(7);
    expectSame([next], undisturbed.slice(0, 1));
  });

  test("is no longer listened for once a request has ended", async () => {
    const { signal } = abortable();
    await makeSampler().sample({ ...requests[0], signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("happens to all that is in flight where the sampler closes", async () => {
    const sampler = makeSampler({ slots: 2 });
    const outcomes = requests.map((each) => sampler.sample(each).catch((error: unknown) => error));
    await untilTokensFlow(sampler);
    await sampler.close();
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toBeInstanceOf(EngineError);
  });
});

describe("requests that cannot be sampled are refused", () => {
  test.each([
    ["a context that leaves no room", { context: randomTokens(512, "long") }, "context length is 512; expected 1 to 511 tokens"],
    ["an empty context", { context: [] }, "context length is 0"],
    ["an id beyond the vocabulary", { context: [5, 300] }, "token id is 300; expected 0 to 299"],
    ["an id below it", { context: [-1] }, "token id is -1"],
    ["no room for an action", { maxTokens: 0 }, "maxTokens is 0; expected a whole number from 1"],
    ["half a token", { maxTokens: 1.5 }, "maxTokens is 1.5"],
    ["a negative temperature", { temperature: -1 }, "temperature is -1; expected a number from 0, which is greedy"],
    ["no temperature", { temperature: Number.NaN }, "temperature is NaN"],
    ["no probability mass", { topP: 0 }, "topP is 0; expected a number above 0, at most 1, which is off"],
    ["a negative number of tokens", { topK: -2 }, "topK is -2"],
    ["stop strings without a way to decode", { stopStrings: ["x"] }, "expected an engine made with `decode`"],
  ])("%s", async (_, changes, message) => {
    await expect(trainer.sample(request(changes))).rejects.toThrow(EngineError);
    await expect(trainer.sample(request(changes))).rejects.toThrow(message);
  });

  test("and do not disturb those that can", async () => {
    const good = trainer.sample(request());
    await expect(trainer.sample(request({ context: [300] }))).rejects.toThrow(EngineError);
    expect((await good).tokens).toHaveLength(8);
  });
});

describe("a restricted choice", () => {
  const draws = Array.from({ length: 100 }, (_, seed) => seed);

  test.each([
    ["top-k", { topK: 4 }, 1],
    ["top-p", { topP: 0.6 }, 1],
    ["top-k and top-p, tempered", { topK: 6, topP: 0.7 }, 0.7],
  ])("by %s draws only what is left, with its probability shared out", async (_, restriction, temperature) => {
    const logprobs = await distribution(request().context, temperature);
    const { topK = vocabulary, topP = 1 } = restriction as { topK?: number; topP?: number };
    const order = [...logprobs.keys()].sort((a, b) => logprobs[b] - logprobs[a]).slice(0, topK);
    const massOf = (tokens: readonly TokenId[]) => tokens.reduce((sum, token) => sum + Math.exp(logprobs[token]), 0);
    const size = order.findIndex((_token, i) => massOf(order.slice(0, i + 1)) >= topP * massOf(order) - 1e-9) + 1;
    const left = order.slice(0, size);

    const sampler = makeSampler();
    const actions = await all(
      sampler,
      draws.map((seed) => request({ seed, maxTokens: 1, temperature, ...restriction })),
    );
    const drawn = new Set(actions.map(({ tokens: [token] }) => token));
    expect(drawn.size).toBeGreaterThan(1);
    expect(left).toEqual(expect.arrayContaining([...drawn]));
    for (const {
      tokens,
      logprobs: [logprob],
    } of actions) {
      expect(Math.abs(logprob - (logprobs[tokens[0]] - Math.log(massOf(left))))).toBeLessThan(rounding);
    }
  });

  test("at temperature 0 is the most probable token of all, for certain, whatever the seed", async () => {
    const sampler = makeSampler();
    const [first, second] = await all(sampler, [request({ temperature: 0, seed: 1 }), request({ temperature: 0, seed: 2 })]);
    expect(second).toEqual(first);
    expect(first.logprobs).toEqual(first.tokens.map(() => 0));
    for (const [i, token] of first.tokens.entries()) {
      const logprobs = await distribution([...request().context, ...first.tokens.slice(0, i)], 1);
      expect(logprobs[token]).toBe(Math.max(...logprobs));
      expect(Math.abs(first.modelLogprobs[i] - logprobs[token])).toBeLessThan(rounding);
    }
  });
});

describe("an optimiser step", () => {
  const options = { learningRate: 1e-2, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
  let engine: LocalEngine;
  beforeAll(async () => {
    engine = new LocalEngine(await loadModel(folder), { model: folder, threads: 1 });
  });
  afterAll(() => engine.dispose());

  test("is refused while actions are being sampled, and moves nothing", async () => {
    const sample = { trajectory: "t", turn: 0, context: [1, 2], action: [3, 4] };
    const before = await engine.forwardBackward([sample], [[1, 1]], { temperature: 1 });
    const sampling = engine.sample(request());
    await expect(engine.step(options)).rejects.toThrow(EngineError);
    await expect(engine.step(options)).rejects.toThrow("while actions are being sampled");
    expect((await sampling).weightVersion).toBe(0);
    expect(engine.weightVersion).toBe(0);
    expect(await engine.logprobs([sample], { temperature: 1 })).toEqual(before);
  });

  test("is what the next actions are drawn with, and nothing cached before it", async () => {
    const cached = request({ cacheKey: "row", temperature: 0 });
    const before = await engine.sample(cached);
    await engine.step(options);
    const after = await engine.sample(cached);
    expect([before.weightVersion, after.weightVersion, engine.weightVersion]).toEqual([0, 1, 1]);
    const samples = asSamples([cached], [after]);
    expectClose([after.modelLogprobs], await engine.logprobs(samples, { temperature: 1 }));
    expect(Math.abs(after.modelLogprobs[0] - before.modelLogprobs[0])).toBeGreaterThan(100 * rounding);
  });
});

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

test.each([Number.NaN, Number.POSITIVE_INFINITY])("a weight that is %d ends the call and is named", async (value) => {
  const parameters = new Map([...model.parameters].map(([name, { data }]) => [name, data.slice()]));
  const name = [...parameters.keys()].find((key) => key.includes("layers.1") && key.includes("down_proj")) ?? "";
  (parameters.get(name) as Float32Array)[7] = value;
  const sampler = new LocalSampler(model.config, parameters, 0, {
    ...{ threads: 1, slots: 4, maxLength: 512, cacheBytes: 2 ** 24, decode: undefined },
  });
  samplers.push(sampler);
  const sampled = Promise.all([sampler.sample(request()), sampler.sample(request({ seed: 2, temperature: 0 }))]);
  await expect(sampled).rejects.toThrow(EngineError);
  await expect(sampled).rejects.toThrow(`The weights ${name} have values that are not finite`);
});
