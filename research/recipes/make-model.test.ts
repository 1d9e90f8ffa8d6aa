import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engines/engine.ts";
import type { superviseOnce } from "../../src/training/supervised/sft.ts";
import { testChat } from "../../test/fixtures/chats.ts";
import { teach } from "./make-model.ts";
import { newModel } from "./new-model.ts";
import { office } from "./office.ts";
import type { Recipe } from "./recipe.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const chat = testChat("plain");
const engine = {} as Engine;

test("stages have their rates and lengths; foreign words bring a new world, with its habits", async () => {
  const worlds: unknown[][] = [];
  const recipe: Recipe = {
    ...{ pieces: [], vocabularySize: 0, stages: [], copied: /[a-z]+/g, drilled: ["zoe"] },
    *demonstrations(settings, seed, slip, foreignWords) {
      worlds.push([JSON.stringify(settings), seed, slip, foreignWords]);
      for (;;)
        yield {
          messages: [
            { role: "user", content: "a" },
            { role: "assistant", content: "b" },
          ],
          stumbles: [],
        };
    },
  };
  const stages = [
    { learningRate: 1e-3, warmupSteps: 5, steps: 60, scheduledSteps: 100 },
    { learningRate: 1e-4, warmupSteps: 0, steps: 3, scheduledSteps: 2, foreignWords: 0.3 },
    { learningRate: 1e-4, warmupSteps: 0, steps: 40, scheduledSteps: 40, foreignWords: 0.6, slip: 0.5 },
  ];
  const steps: [number, number, object][] = [];
  const said: string[] = [];
  /** A step of one lesson, of 2,000 tokens in a second. */
  const supervise: typeof superviseOnce = async ({ engine: given, demonstrations, tokensPerStep, optimizer }, at, of) => {
    expect([given, tokensPerStep]).toEqual([engine, 2000]);
    const { done } = await demonstrations.next();
    if (done) return undefined;
    steps.push([at, of, optimizer]);
    vi.advanceTimersByTime(1000);
    return { step: at, demonstrations: 1, tokens: 2000, actionTokens: 1, loss: 1 / at } as Awaited<
      ReturnType<typeof superviseOnce>
    >;
  };
  await teach(engine, { recipe, stages, chat, seed: 7, fromNothing: true, say: (line) => said.push(line), supervise });
  // The first stage ends at its last step, the second at the last one of its schedule.
  expect(steps.map(([at, of]) => `${at}/${of}`)).toEqual([
    ...Array.from({ length: 60 }, (_, i) => `${i + 1}/100`),
    ...["1/2", "2/2"],
    ...Array.from({ length: 40 }, (_, i) => `${i + 1}/40`),
  ]);
  const adamW = { schedule: "linear", beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };
  expect(steps[0]?.[2]).toEqual({ ...adamW, learningRate: 1e-3, warmupSteps: 5 });
  expect(steps[60]?.[2]).toEqual({ ...adamW, learningRate: 1e-4, warmupSteps: 0 });
  expect(said).toEqual([
    "step 50  100000 tokens  loss 0.0200  2000 tokens/s",
    "step 100  200000 tokens  loss 0.0263  2000 tokens/s",
  ]);
  const [small, large] = ["{}", '{"difficulty":"large"}'];
  expect(worlds).toEqual(
    [
      ...[
        [large, 7, undefined, undefined],
        [small, 7, undefined, undefined],
      ],
      ...[
        [large, 8, undefined, 0.3],
        [small, 8, undefined, 0.3],
      ],
      ...[
        [large, 9, 0.5, 0.6],
        [small, 9, 0.5, 0.6],
      ],
    ].toSorted((a, b) => Number(a[1]) - Number(b[1])),
  );
});

test("the office's model: 896 tokens, 2.0 million parameters, weights by the seed, and what ends a text", () => {
  const walk = [
    { role: "user", content: "Book a room for Ana at 14:30." },
    { role: "assistant", content: "Done." },
  ] as const;
  const { start, chat: own } = newModel([walk], office, 1);
  expect(start.config).toMatchObject({
    ...{ architecture: "qwen3", hiddenSize: 192, intermediateSize: 640, layers: 4, heads: 6, kvHeads: 2, headDim: 32 },
    ...{ maxPositionEmbeddings: 1024, rmsNormEps: 1e-6, rope: { theta: 10_000 }, attentionBias: false, qkNorm: true },
    ...{ tieWordEmbeddings: true, vocabSize: own.tokenizer.size, eosTokenIds: own.tokenizer.stopTokens },
  });
  const text = (name: string) => new TextDecoder().decode(start.companions.get(name));
  expect([...start.companions.keys()]).toEqual(["tokenizer.json", "tokenizer_config.json", "generation_config.json"]);
  expect(text("generation_config.json")).toBe(
    `{\n "eos_token_id": [\n${own.tokenizer.stopTokens.map((id) => `  ${id}`).join(",\n")}\n ]\n}\n`,
  );
  const other = newModel([walk], office, 2).start;
  const [first] = start.parameters.keys();
  expect(other.parameters.get(first ?? "")?.data[0]).not.toBe(start.parameters.get(first ?? "")?.data[0]);
});

test("the office's demonstrations: habits by the stage, an expert less careless where it is careful", () => {
  expect(office.stages.map(({ steps, scheduledSteps }) => [steps, scheduledSteps])).toEqual([
    ...[
      [2300, 3600],
      [900, 900],
      [600, 600],
      [700, 700],
      [1200, 1200],
      [900, 900],
    ],
  ]);
  const stumbles = (slip?: number) => {
    const shown = office.demonstrations({}, 3, slip);
    return Array.from({ length: 12 }, () => shown.next().value.messages.length).reduce((sum, length) => sum + length, 0);
  };
  expect(stumbles()).toBe(stumbles(0.7));
  expect(stumbles(0)).not.toBe(stumbles());
});
