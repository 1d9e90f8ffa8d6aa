import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import type { Message } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import { type Split, splits } from "../../src/environments/environment.ts";
import { demonstrate, demonstrations } from "./demonstrations.ts";
import { startEpisode } from "./episode.ts";
import { fill, type Phrasings } from "./grammar.ts";
import { isHeldOut, kindNames, kinds } from "./kinds.ts";
import { drawn, tasks } from "./office.fixture.ts";
import { officeEnvironment } from "./office.ts";
import { type OfficeTask, officeSplits } from "./task.ts";
import { toolNames } from "./tools.ts";
import { allWords, wordsOf } from "./vocabulary.ts";

const turnsOf = (task: OfficeTask) =>
  demonstrate(task, randomStream(1)).messages.filter(({ role }) => role === "assistant").length;
const textsOf = (task: OfficeTask) =>
  demonstrate(task, randomStream(1)).messages.flatMap(({ role, content }) => (role === "user" ? [content] : []));

describe.each(["small", "default", "large"])("at difficulty %s", (difficulty) => {
  test.each(splits)("the expert solves every task of the %s split, and shows every behaviour that it calls for", (split) => {
    const failed: unknown[] = [];
    for (const task of tasks({ difficulty }, split, 150)) {
      const { score, messages } = demonstrate(task, randomStream(1));
      const missed = Object.values(score.behaviours ?? {}).some(
        (count) => typeof count === "object" && count.done < count.called,
      );
      if (score.reward !== 1 || missed) failed.push({ task: task.id, score, messages });
    }
    expect(failed).toEqual([]);
  });
});

test("an index always gives the same task, and every index and split another one", () => {
  const all = splits.flatMap((split) => tasks({}, split, 60));
  const again = splits.flatMap((split) => drawn({}, split, 0, 60));
  expect(JSON.stringify(again)).toBe(JSON.stringify(all));
  expect(new Set(all.map(({ world, requests }) => JSON.stringify([world, requests]))).size).toBe(all.length);
});

test("episodes take 4 to 12 turns, of the challenge split 8 to 16", () => {
  const range = (split: Split) => tasks({}, split, 150).map(turnsOf);
  for (const split of ["train", "validation", "test"] as const) {
    expect(Math.min(...range(split))).toBeGreaterThanOrEqual(4);
    expect(Math.max(...range(split))).toBeLessThanOrEqual(12);
  }
  expect(Math.min(...range("challenge"))).toBeGreaterThanOrEqual(8);
  expect(Math.max(...range("challenge"))).toBeLessThanOrEqual(16);
});

test("no text of a user is in two of the splits, answers to questions included", () => {
  const texts = splits.map((split) => new Set(tasks({}, split, 400).flatMap(textsOf)));
  for (const [i, some] of texts.entries())
    for (const others of texts.slice(0, i)) {
      const challenge = i === splits.indexOf("challenge") && others !== texts[0];
      if (!challenge) expect([...some].filter((text) => others.has(text))).toEqual([]);
    }
});

test("of every kind training has at least ten phrasings, and no split's are another's", () => {
  for (const [name, { phrasings }] of Object.entries(kinds)) {
    const all = Object.values(phrasings).flat();
    expect(new Set(all).size, name).toBe(all.length);
    expect(phrasings.train.length, name).toBeGreaterThanOrEqual(10);
    // Each way to say it names the same things.
    expect(new Set(all.map((text) => [...text.matchAll(/\{\w+\}/g)].flat().sort().join())).size, name).toBe(1);
  }
});

test("each shift has a split of its own, and the challenge split has all of them", () => {
  const isSaid = (texts: readonly string[], { challenge }: Phrasings) =>
    texts.some((text) => challenge.some((said) => new RegExp(`^${fill(said.replace(/[.?]/g, "\\$&"), gaps)}$`).test(text)));
  const gaps = Object.fromEntries(["person", "amount", "text", "title", "name", "time"].map((gap) => [gap, "[\\w :]+"]));
  const foreign = Object.values(wordsOf("challenge")).flat();
  for (const split of officeSplits) {
    const shift = (name: string) => split === "challenge" || split === name;
    const some = tasks({}, split, 60);
    const texts = some.flatMap(textsOf);
    expect(foreign.some((word) => texts.join(" ").includes(word))).toBe(shift("names"));
    expect(isSaid(texts, kinds.share.phrasings) || isSaid(texts, kinds.parcel.phrasings)).toBe(shift("phrasings"));
    expect(some.some((task) => task.kinds.some((kind, i) => i > 0 && isHeldOut(task.kinds[i - 1], kind)))).toBe(shift("pairs"));
    expect(some.some((task) => turnsOf(task) > 12)).toBe(shift("length"));
  }
});

test("the challenge split has words and pairs of requests that no other customary split has", () => {
  const heldOut = new Set(Object.values(wordsOf("challenge")).flat());
  expect(
    Object.values(wordsOf("train"))
      .flat()
      .filter((word) => heldOut.has(word)),
  ).toEqual([]);
  for (const split of splits) {
    const texts = tasks({}, split, 200).flatMap(textsOf).join(" ");
    expect([...heldOut].some((word) => texts.includes(word))).toBe(split === "challenge");
    for (const { kinds } of tasks({}, split, 200))
      expect(kinds.some((kind, i) => i > 0 && isHeldOut(kinds[i - 1], kind))).toBe(split === "challenge");
  }
});

test("every kind of request, every tool and every word occurs", () => {
  const all = [...tasks({}, "train", 1000), ...tasks({}, "challenge", 300)];
  expect(new Set(all.flatMap(({ kinds }) => kinds))).toEqual(new Set(kindNames));
  const messages = all.flatMap((task) => demonstrate(task, randomStream(1)).messages);
  expect(new Set(messages.flatMap((message) => (message.role === "tool" ? [message.name] : [])))).toEqual(new Set(toolNames));
  const text = messages.map(({ content }) => content).join(" ");
  expect(allWords.filter((word) => !text.includes(word))).toEqual([]);
});

/** Sixteen digits of a SHA-256. */
const digest = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);

test("tasks are those that results were measured on, word for word", () => {
  // Another digest is another environment: models and numbers on pages are of the old one then.
  const some = (["small", "default", "large"] as const).flatMap((difficulty) =>
    officeSplits
      .filter((split) => officeEnvironment({ difficulty }).size(split) !== 0)
      .map((split) => [`${difficulty} ${split}`, digest(tasks({ difficulty }, split, 40))]),
  );
  expect(Object.fromEntries(some)).toMatchInlineSnapshot(`
    {
      "default challenge": "31ff8a07678cd3f3",
      "default length": "41ce80cf3adc87c6",
      "default names": "a7de05d660d01683",
      "default pairs": "3f0d6e3db15c6c99",
      "default phrasings": "6f8fface4928e837",
      "default test": "006ba8f6ab80fba7",
      "default train": "125536387ad17368",
      "default validation": "f2d3b88e71355494",
      "large challenge": "d265f9e75a5104af",
      "large length": "0e01b3f758a56e26",
      "large names": "e04d9d889f2b47b0",
      "large pairs": "200095c4493fcc66",
      "large phrasings": "08633d6a7e263660",
      "large test": "82abfab5d42f1598",
      "large train": "e8687bed82199c88",
      "large validation": "e4cfff9b1cb1d051",
      "small challenge": "69d2ccc93b323b06",
      "small length": "0c6525752f5092a8",
      "small names": "a06e8a7802acf91d",
      "small phrasings": "72a49035417effdf",
      "small test": "a1a106e1aeaed785",
      "small train": "dda46b24d2b53baf",
      "small validation": "b9f5f5dca06e7066",
    }
  `);
  expect(
    Object.fromEntries(Object.entries(kinds).map(([name, { phrasings, weight }]) => [name, digest([phrasings, weight])])),
  ).toMatchInlineSnapshot(`
    {
      "book": "a791cb23b6ae7d6d",
      "cancel": "602204cb8b81dd4f",
      "delete_file": "06ab83ec3b565be5",
      "desk": "6300237739a9fdf7",
      "file_away": "1e32db724157acef",
      "make_it": "54b093dc1f264a95",
      "message": "654faaa767f7d3fa",
      "move": "0d7925bdfb9f6f59",
      "parcel": "efb8e6e1b138e12b",
      "pay": "9362c695944309de",
      "same": "4823f8f7b27735a7",
      "share": "c37cad6e27313895",
      "tell_when": "3bc6c38723cfe591",
      "when": "136c08925d0de2c5",
    }
  `);
});

/** What Node says of broken JSON changes with its version. */
const asNodeSays = (message: Message): Message =>
  message.role === "tool"
    ? { ...message, content: message.content.replace(/valid JSON: .*\. Write/s, "valid JSON: …. Write") }
    : message;

test("demonstrations of the expert, with good and bad habits, are word for word what models were taught", () => {
  const taught = (options: Parameters<typeof demonstrations>[2]) => {
    const source = demonstrations({}, 7, options);
    return Array.from({ length: 60 }, () => {
      const { messages, slipped, stumbles, score } = source.next().value;
      return { messages: messages.map(asNodeSays), slipped, stumbles, score };
    });
  };
  const careful = { kinds: ["pay", "share"], slip: { room: 1 } } as const;
  expect({
    expert: digest(taught({})),
    careless: digest(taught({ slip: 1, favourite: 0.5 })),
    stumbling: digest(taught({ stumble: 0.5, slip: 0.3, foreignWords: 0.5 })),
    careful: digest(taught({ slip: 0.7, careful })),
  }).toMatchInlineSnapshot(`
    {
      "careful": "2ab0aba1e7d32287",
      "careless": "0e7293738c1d2631",
      "expert": "e0212da38d1d0a45",
      "stumbling": "cb58bd0133dd5caa",
    }
  `);
});

test("the prompts and tools that a model is shown are word for word the same", () => {
  const [task] = tasks({}, "train", 1);
  const shown = (prompt: "short" | "full") => {
    const { messages, tools } = startEpisode(task as OfficeTask, { reward: "sparse", prompt });
    return digest([
      messages,
      tools.map(({ name, description, parameters }) => [name, description, z.toJSONSchema(parameters as z.ZodType)]),
    ]);
  };
  expect([shown("short"), shown("full")]).toMatchInlineSnapshot(`
    [
      "606e47a5440a5e60",
      "d7a2a8193bcce9b2",
    ]
  `);
});

test("an early choice shows many turns later: with a fixed room the event cannot move", () => {
  const task = tasks({}, "challenge", 2000).find(
    ({ kinds, requests }) => kinds[0] === "book" && kinds[1] === "make_it" && requests[0].closing.includes("flex"),
  ) as OfficeTask;
  const { messages, score } = demonstrate(task, randomStream(1), { slip: { room: 1 } });
  expect(messages.some(({ role, content }) => role === "tool" && content === "the room is fixed")).toBe(true);
  expect(score.reward).toBe(0);
});

test("demonstrations with bad habits are mostly wrong, and failed calls in them are marked", () => {
  const source = demonstrations({}, 1, { slip: 0.7, favourite: 0.65, stumble: 0.1 });
  const some = Array.from({ length: 150 }, () => source.next().value);
  expect(some.filter(({ score }) => score.reward === 1).length).toBeLessThan(50);
  for (const { messages, stumbles } of some) {
    const answers = messages.flatMap(({ role }, i) => (role === "assistant" ? [messages[i + 1]] : []));
    for (const turn of stumbles)
      expect(answers[turn]).toMatchObject({ role: "tool", content: expect.stringMatching(/^Error|^no |^busy|^closed/) });
  }
  expect(some.some(({ stumbles }) => stumbles.length > 0)).toBe(true);
});

test("the settings choose kinds, number of requests, faults and spare calls", () => {
  for (const { kinds } of tasks({ kinds: ["pay", "when"], requests: { min: 2, max: 2 } }, "train", 20)) {
    expect(kinds).toHaveLength(2);
    expect(kinds.every((name) => ["pay", "when"].includes(name))).toBe(true);
  }
  const faulty = (faults: number) => tasks({ faults }, "train", 40).filter(({ world }) => world.fault !== undefined).length;
  expect([faulty(0), faulty(1) > 30]).toEqual([0, true]);
  const [few, many] = [0, 9].map((spareCalls) => tasks({ spareCalls }, "train", 1)[0].world.callsLeft);
  expect(many - few).toBe(9);
  const opening = (prompt: string) =>
    (officeEnvironment({ prompt }).start(tasks({}, "train", 1)[0], 0) as unknown as { messages: { content: string }[] })
      .messages[0].content;
  expect(opening("full").length).toBeGreaterThan(opening("short").length);
});

test("there is no challenge where no held-out pair can occur, and no pair where there is one request", () => {
  const sizes = (settings: object) => officeSplits.filter((split) => officeEnvironment(settings).size(split) === 0);
  expect(sizes({})).toEqual([]);
  expect(sizes({ kinds: ["pay", "when"] })).toEqual(["challenge", "pairs"]);
  expect(sizes({ kinds: ["pay", "share"] })).toEqual([]);
  expect(sizes({ difficulty: "small" })).toEqual(["pairs"]);
  expect(sizes({ requests: { min: 1, max: 2 } })).toEqual([]);
  const said = "It needs kinds of request of which a pair is held out, and episodes of two requests.";
  for (const [settings, split] of [
    [{ kinds: ["pay", "when"] }, "challenge"],
    [{ difficulty: "small" }, "pairs"],
  ] as const)
    expect(() => officeEnvironment(settings).task(split, 0)).toThrow(new EnvError("office split", split, { hint: said }));
});

test.each([
  [{ difficulty: "huge" }, "environment.settings.difficulty"],
  [{ kinds: ["pya"] }, "environment.settings.kinds.0"],
  [{ kinds: ["same"] }, "environment.settings.kinds"],
  [{ requests: { min: 3, max: 1 } }, "environment.settings.requests"],
  [{ reward: "shaped" }, "environment.settings.reward"],
  [{ busy: 0.4 }, "environment.settings.busy"],
])("settings %j are refused, naming %s", (settings, subject) => {
  expect(() => officeEnvironment(settings)).toThrow(ConfigError);
  expect(() => officeEnvironment(settings)).toThrow(subject);
});
