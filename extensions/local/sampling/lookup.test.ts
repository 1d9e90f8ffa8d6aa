import { describe, expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import type { TokenId } from "../../../src/core/trajectory.ts";
import type { SampleRequest } from "../../../src/engines/engine.ts";
import { defaultRuntime } from "../machine/native.ts";
import type { Runtime } from "../machine/runtime.ts";
import { loadModel } from "../model/model-folder.ts";
import { Lookup } from "./lookup.ts";
import { LocalSampler } from "./sampler.ts";

describe("a draft", () => {
  const drafted = (text: string, ...ended: string[]) => {
    const lookup = new Lookup();
    for (const each of ended) lookup.keep(idsOf(each));
    return String.fromCharCode(...lookup.draft(idsOf(text)));
  };
  const idsOf = (text: string): TokenId[] => Array.from(text, (letter) => letter.charCodeAt(0));

  test.each([
    // as many tokens as match before it
    ["the cat sat. the c", "at sa"],
    ["abcd-abc", "d-a"],
    // up to the end
    ["abcabc", "abc"],
    // too little in common
    ["ab-ab", ""],
    ["nothing twice", ""],
    ["", ""],
  ])("of %j is %j", (text, expected) => expect(drafted(text)).toBe(expected));

  test("is that of the longest match, and the latest of these", () => {
    expect(drafted("1abc, 2abcd; 3abc")).toBe("d; ");
    expect(drafted("xabc+ yabc- xabc")).toBe("+ ya");
  });

  test("comes from what has ended, too, and never has more than 8 tokens", () => {
    expect(drafted("so long and th", "so long and thanks for all the fish")).toBe("anks for");
    expect(drafted("abc", ...["abcdef", ...Array.from({ length: 16 }, (_, i) => `other ${i}`)])).toBe("");
  });
});

describe("a row that is sampled alone", async () => {
  const folder = new URL("../../../test/golden/models/qwen3", import.meta.url).pathname;
  const model = await loadModel(folder);
  const random = randomStream(1, "prompt");
  const context = Array.from({ length: 12 }, () => random.integer(model.config.vocabSize));

  /** Samples one action after another. @returns the actions, and the number of runs that they took */
  async function sampled(lookup: boolean, requests: readonly Partial<SampleRequest>[]) {
    let runs = 0;
    const runtime = counting(await defaultRuntime(), () => runs++);
    const parameters = new Map([...model.parameters].map(([name, { data }]) => [name, data]));
    const options = { threads: 1, slots: 8, maxLength: 512, cacheBytes: 2 ** 24, decode: undefined, runtime, lookup };
    const sampler = new LocalSampler(model.config, parameters, 0, options);
    const actions = [];
    for (const each of requests) actions.push(await sampler.sample({ context, maxTokens: 96, stopTokens: [], seed: 1, ...each }));
    await sampler.close();
    return { actions, runs };
  }

  test.each<[string, Partial<SampleRequest>]>([
    ["greedily", { temperature: 0 }],
    ["at temperature 0.1", { temperature: 0.1 }],
    ["of few candidates", { temperature: 0.8, topK: 2 }],
    ["with top candidates", { temperature: 0, topLogprobs: 2 }],
  ])("is the same with drafts, %s, and takes fewer runs", async (_, request) => {
    // A second one with the same seed repeats the first, which is drafted from.
    const requests = [request, request, { ...request, seed: 2, cacheKey: "a" }];
    const [plain, drafted] = [await sampled(false, requests), await sampled(true, requests)];
    expect(drafted.actions.map(({ tokens, finish }) => ({ tokens, finish }))).toEqual(
      plain.actions.map(({ tokens, finish }) => ({ tokens, finish })),
    );
    const numbers = ({ actions }: typeof plain) => actions.flatMap((action) => [...action.logprobs, ...action.entropies]);
    const expected = numbers(plain);
    for (const [i, value] of numbers(drafted).entries()) expect(Math.abs(value - expected[i])).toBeLessThan(5e-5);
    expect(drafted.runs).toBeLessThan(0.7 * plain.runs);
  });

  test("is masked token by token within a draft", async () => {
    const { actions: free } = await sampled(false, [{ temperature: 0 }]);
    const likely = new Set(free[0]?.tokens.slice(0, 3));
    /** After each token another one: it repeats, so it is drafted, and one token late it would allow none of a draft. */
    const allowed = [...likely, 11, 12, 13, 14];
    const mask = () => {
      let at = 0;
      const one = () => allowed[at % allowed.length] ?? 0;
      const next = () =>
        Int32Array.from({ length: Math.ceil(model.config.vocabSize / 32) }, (_, i) => (i === one() >> 5 ? 1 << (one() & 31) : 0));
      return {
        next,
        allows: (token: TokenId) => token === one(),
        accept: (token: TokenId) => void (at += Number(token === one())),
      };
    };
    const requests = () => [{ temperature: 0, mask: mask() }, { mask: mask() }];
    const [plain, drafted] = [await sampled(false, requests()), await sampled(true, requests())];
    const expected = Array.from({ length: 96 }, (_, i) => allowed[i % allowed.length]);
    for (const { actions } of [plain, drafted]) expect(actions.map(({ tokens }) => tokens)).toEqual([expected, expected]);
    expect(drafted.runs).toBeLessThan(0.7 * plain.runs);
  });

  test("ends within a draft at its stop token, and at its limit, and continues from what was drawn", async () => {
    const whole = (await sampled(false, [{ temperature: 0 }])).actions[0].tokens;
    const stop = whole[50];
    const requests = [
      { temperature: 0, cacheKey: "talk" },
      { temperature: 0, stopTokens: [stop] },
      ...[1, 2, 45, 46, 47, 48].map((maxTokens) => ({ temperature: 0, maxTokens })),
      { temperature: 0, context: [...context, ...whole, 7, 8, 9], cacheKey: "talk" },
    ];
    const [plain, drafted] = [await sampled(false, requests), await sampled(true, requests)];
    expect(drafted.actions.map(({ tokens, finish }) => ({ tokens, finish }))).toEqual(
      plain.actions.map(({ tokens, finish }) => ({ tokens, finish })),
    );
  });
});

/** A runtime that counts what its sessions run. */
function counting(inner: Runtime, count: () => void): Runtime {
  return {
    ...inner,
    Tensor: inner.Tensor,
    InferenceSession: {
      create: async (...args: Parameters<Runtime["InferenceSession"]["create"]>) => {
        const session = await inner.InferenceSession.create(...args);
        return {
          run: (...given: Parameters<typeof session.run>) => {
            count();
            return session.run(...given);
          },
          release: () => session.release(),
        };
      },
    },
  } as Runtime;
}
