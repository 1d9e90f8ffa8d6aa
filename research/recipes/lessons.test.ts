import { expect, test } from "vitest";
import { testChat } from "../../test/fixtures/chats.ts";
import { lessons, tokenizerCorpus, worldsOf } from "./lessons.ts";
import type { Recipe } from "./recipe.ts";

const chat = testChat("plain");
const asked: unknown[][] = [];

/** A world whose n-th demonstration asks for `Seed-size-n`, stumbles, and answers. */
const recipe: Recipe = {
  ...{ pieces: [], vocabularySize: 0, stages: [], copied: /[A-Z][a-z]+/g, drilled: ["Zoe", "Yan"] },
  *demonstrations(settings, seed, slip, foreignWords) {
    asked.push([settings, seed, slip, foreignWords]);
    const size = Object.hasOwn(settings as object, "difficulty") ? "Large" : "Small";
    for (let n = 0; ; n++)
      yield {
        messages: [
          { role: "user", content: `${size} ${n}` },
          { role: "assistant", content: "first" },
          { role: "user", content: "more" },
          { role: "assistant", content: "second" },
        ],
        stumbles: n % 2 === 0 ? [0] : [],
      };
  },
};

test("a world is played in two sizes, with the stage's seed and habits", () => {
  asked.length = 0;
  const worlds = worldsOf(recipe, 5, 0.3, 0.6);
  const text = (each: keyof typeof worlds) => worlds[each].next().value.messages[0]?.content;
  expect([text("default"), text("default"), text("large")]).toEqual(["Small 0", "Small 1", "Large 0"]);
  expect(asked).toEqual([
    [{}, 5, 0.6, 0.3],
    [{ difficulty: "large" }, 5, 0.6, 0.3],
  ]);
});

test("a tokenizer is learned from both worlds in turn, and from the words that are drilled", () => {
  const corpus = tokenizerCorpus(worldsOf(recipe, 1), recipe, 4);
  expect(corpus.slice(0, 4).map(([first]) => first?.content)).toEqual(["Large 0", "Small 0", "Large 1", "Small 1"]);
  expect(corpus.slice(4)).toEqual(Array.from({ length: 20 }, () => [{ role: "user", content: "Zoe Yan" }]));
});

/** Lessons of a stage that takes one episode a step. */
function stage(last: number, fromNothing: boolean, first = 0) {
  let step = first;
  const worlds = worldsOf(recipe, 1);
  const given = [];
  for (const lesson of lessons({ recipe, worlds, chat, seed: 1, last, step: () => step, fromNothing })) {
    given.push(lesson);
    step++;
  }
  return given;
}

test("copying is most of what new weights learn at first, and a few exercises stay", () => {
  const share = (given: ReturnType<typeof stage>) =>
    given.filter(([sample]) => sample?.trajectory.startsWith("copy-")).length / given.length;
  // Chances are 0.6 · (1 − step / 525), and 0.06 at least: 0.55 on the mean of the first hundred.
  const first = share(stage(100, true));
  expect(first).toBeGreaterThan(0.42);
  expect(first).toBeLessThan(0.67);
  const later = share(stage(1000, true, 600));
  expect(later).toBeGreaterThan(0.02);
  expect(later).toBeLessThan(0.11);
  const further = share(stage(200, false));
  expect(further).toBeLessThan(0.12);
  expect(stage(5, true)).toHaveLength(5);
});

test("an exercise repeats words of the world and of the drill, half of the time as JSON", () => {
  const text = (ids: { slice(): readonly number[] }) => chat.tokenizer.decode([...ids.slice()]);
  const exercises = stage(120, true).filter(([sample]) => sample?.trajectory.startsWith("copy-"));
  const seen: string[] = [];
  const forms = exercises.map((lesson) => {
    const [sample] = lesson;
    expect(lesson).toHaveLength(1);
    if (sample === undefined) throw new Error("no lesson");
    const list = /(?:(?:Large|Zoe|Yan) ?)+/.exec(text(sample.context))?.[0].trim() ?? "";
    const words = list.split(" ");
    seen.push(...words);
    expect(words.length).toBeGreaterThanOrEqual(8);
    expect(words.length).toBeLessThan(32);
    const written = text({ slice: () => sample.action });
    const inJson = written.startsWith("{");
    expect(written.startsWith(inJson ? JSON.stringify({ name: words }) : list)).toBe(true);
    return inJson;
  });
  expect(new Set(seen)).toEqual(new Set(["Large", "Zoe", "Yan"]));
  const share = forms.filter(Boolean).length / forms.length;
  expect(share).toBeGreaterThan(0.25);
  expect(share).toBeLessThan(0.75);
});

test("stumbles are shown and not imitated; one episode in seven is of the large world", () => {
  const shown = stage(300, false).filter(([sample]) => !sample?.trajectory.startsWith("copy-"));
  const sizes = shown.map((lesson) => {
    const [sample] = lesson;
    const [, size, n] = /(Large|Small) (\d+)/.exec(chat.tokenizer.decode([...(sample?.context.slice() ?? [])])) ?? [];
    expect(lesson.map(({ turn }) => turn)).toEqual(Number(n) % 2 === 0 ? [1] : [0, 1]);
    return size;
  });
  const share = sizes.filter((size) => size === "Large").length / sizes.length;
  expect(share).toBeGreaterThan(0.09);
  expect(share).toBeLessThan(0.21);
});
