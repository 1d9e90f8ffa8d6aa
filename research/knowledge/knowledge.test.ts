import "../install.ts";
import { expect, test } from "vitest";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import type { Message, ToolMessage } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import { splits } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { evaluate } from "./calculator.ts";
import { demonstrate } from "./demonstrations.ts";
import type { KindName } from "./kinds.ts";
import { call, taskOf, world } from "./knowledge.fixture.ts";
import { knowledgeEnvironment } from "./knowledge.ts";
import { completeSettings, knowledgeSettingsSchema } from "./settings.ts";
import { drawTask, type KnowledgeTask } from "./task.ts";
import { isTrusted } from "./world.ts";

test("a split and an index decide a task; splits differ", () => {
  for (const split of splits) {
    for (let index = 0; index < 20; index++) {
      const [one, other] = [world, knowledgeEnvironment()].map((each) => each.task(split, index) as KnowledgeTask);
      expect(one.id).toBe(`${split}/${index}`);
      expect([one.question, one.golds, [...one.corpus.facts.keys()]]).toEqual([
        other.question,
        other.golds,
        [...other.corpus.facts.keys()],
      ]);
    }
  }
  const questions = splits.flatMap((split) =>
    Array.from({ length: 200 }, (_, i) => (world.task(split, i) as KnowledgeTask).question),
  );
  expect(new Set(questions).size).toBeGreaterThan(780);
});

test("what a name is said to be is drawn again for each task", () => {
  const told = Array.from({ length: 300 }, (_, index) => [...taskOf(world, index).corpus.facts.keys()])
    .flat()
    .filter((text) => text.includes(": The mayor of"));
  expect(told.length).toBeGreaterThan(100);
  expect(new Set(told).size / told.length).toBeGreaterThan(0.9);
});

test("the first page is often the wrong one, and the right one is on another page or needs another query", () => {
  const settings = completeSettings(knowledgeSettingsSchema.parse({}));
  const random = randomStream(1, "knowledge.test");
  let [searches, wrongFirst, absent] = [0, 0, 0];
  for (let index = 0; index < 400; index++) {
    const task = drawTask(settings, "validation", index);
    const { messages } = demonstrate(task, settings, random, { queries: { full: 0.4, short: 0.4, name: 0.2 } });
    const results = messages.filter((message): message is ToolMessage => message.role === "tool" && message.name === "search");
    for (const [i, { content }] of results.entries()) {
      const thought = /<think> (.*) <\/think>/.exec(messages[messages.indexOf(results[i]) + 1].content)?.[1] ?? "";
      const [first] = content.split("\n");
      searches++;
      if (thought === "not there") absent++;
      else if (!first.toLowerCase().includes(thought.toLowerCase())) wrongFirst++;
    }
  }
  expect(wrongFirst / searches).toBeGreaterThan(0.2);
  expect(wrongFirst / searches).toBeLessThan(0.5);
  expect(absent / searches).toBeGreaterThan(0.03);
});

test("of two sources that disagree the one is right that is right about such things, and it stands second as often as first", () => {
  const sure = knowledgeEnvironment({ disputes: 1, ambiguity: 0, kinds: ["fact"] });
  const rights = new Map<string, Set<string>>();
  let second = 0;
  for (let index = 0; index < 200; index++) {
    const task = taskOf(sure, index);
    const [need] = task.needs;
    const said = [...task.corpus.facts.values()].filter(
      ({ relation, subject }) => relation === need.relation && subject === need.subject,
    );
    expect(said).toHaveLength(2);
    expect(said.filter(isTrusted)).toEqual([need]);
    expect(new Set(said.map(({ source }) => source)).size).toBe(2);
    const { sort } = need.subject;
    rights.set(sort, (rights.get(sort) ?? new Set()).add(need.source));
    second += Number(said[1] === need);
  }
  expect([...rights.values()].map(({ size }) => size)).toEqual([1, 1, 1, 1, 1]);
  expect(new Set([...rights.values()].flatMap((all) => [...all])).size).toBe(4);
  expect(second / 200).toBeGreaterThan(0.4);
  expect(second / 200).toBeLessThan(0.6);
  expect([...taskOf(sure, 0).corpus.facts.keys()].every((text) => /^(Atlas|Herald|Ledger|Mirror): /.test(text))).toBe(true);
  const agreed = knowledgeEnvironment({ disputes: 0 });
  for (let index = 0; index < 30; index++) {
    const { facts } = taskOf(agreed, index).corpus;
    expect([...facts.values()].every(isTrusted)).toBe(true);
    expect([...facts.keys()].filter((text) => /^[A-Z][a-z]+: /.test(text))).toEqual([]);
  }
});

test("no question of validation and test is one of training", () => {
  const questions = (split: "train" | "validation" | "test", count: number) =>
    Array.from({ length: count }, (_, i) => (world.task(split, i) as KnowledgeTask).question);
  const seen = new Set(questions("train", 1500));
  expect([...questions("validation", 150), ...questions("test", 150)].filter((question) => seen.has(question))).toEqual([]);
});

test("behaviours are counted by what was seen: the expert does all of them, and one who leaves one out does not do it", () => {
  const { expert } = world;
  if (expert === undefined) throw new Error("no expert");
  const tasks = Array.from({ length: 120 }, (_, i) => taskOf(world, i));
  const count = (behaviour: string, without?: string) =>
    tasks
      .flatMap(
        (task) => expert.play(task, without === undefined ? {} : { [without]: "never" }).score.behaviours?.[behaviour] ?? [],
      )
      .map((counted) => (typeof counted === "boolean" ? { done: Number(counted), called: 1 } : counted))
      .reduce((sum, { done, called }) => ({ done: sum.done + done, called: sum.called + called }), { done: 0, called: 0 });
  for (const behaviour of expert.behaviours) {
    const [all, none] = [count(behaviour), count(behaviour, behaviour)];
    expect(all.done, behaviour).toBe(all.called);
    expect(none.called, behaviour).toBeGreaterThan(5);
    // Half of the time the page that stands first is from the source that is right; some chains come to their end early.
    expect(none.done / none.called, behaviour).toBeLessThan(behaviour.startsWith("goes by") ? 0.7 : 0.15);
  }
});

test("without ambiguity nobody and nothing shares a name or was different before", () => {
  const clear = knowledgeEnvironment({ ambiguity: 0 });
  const texts = Array.from({ length: 100 }, (_, i) => [...taskOf(clear, i).corpus.facts.keys()]).flat();
  expect(texts.filter((text) => /former|the (doctor|port|bank|lamp) /.test(text))).toEqual([]);
});

test("in the challenge split every chain has a pair that occurs in no other split", () => {
  const pairs = (split: "train" | "challenge") =>
    Array.from({ length: 300 }, (_, i) => {
      const { question } = knowledgeEnvironment({ difficulty: "large" }).task(split, i) as KnowledgeTask;
      return [...question.matchAll(/the (\w+) of (?=the (\w+) of )/g)].map(([, outer, inner]) => `${inner} ${outer}`);
    });
  const seen = new Set(pairs("train").flat());
  expect(seen.size).toBeGreaterThan(12);
  for (const chain of pairs("challenge")) expect(chain.some((pair) => !seen.has(pair))).toBe(true);
});

test("without chains there is no challenge split", () => {
  const flat = knowledgeEnvironment({ kinds: ["fact", "calculate"] });
  expect(splits.map((split) => flat.size(split))).toEqual([Infinity, Infinity, Infinity, 0]);
  expect(() => flat.task("challenge", 0)).toThrow(EnvError);
});

const answering = (answer: string): Message[] => [
  { role: "assistant", content: `<think> so </think><answer> \\boxed{ ${answer} } </answer>` },
];
/** Searches, is shown this, and answers. */
const response = (answer: string, shown = answer): Message[] => [
  { role: "assistant", content: "<think> a </think><search> a </search>" },
  { role: "tool", name: "search", content: `Page 1: Atlas: The boss of a is now the ${shown}.` },
  ...answering(answer),
];

test("the reward: the right answer in the right format, or ARPO's", () => {
  const task = taskOf(knowledgeEnvironment({ kinds: ["fact"] }), 3);
  const arpo = knowledgeEnvironment({ reward: "arpo" });
  const both = (messages: readonly Message[]) => [world, arpo].map((each) => each.start(task).score(messages).reward);
  for (const gold of task.golds) expect(both(response(gold))).toEqual([1, 1]);
  expect(both(response("nobody"))).toEqual([0, 0]);
  // F1, as ARPO takes it, knows no minus sign.
  const number = taskOf(knowledgeEnvironment({ kinds: ["calculate"] }), 0);
  const minus = response(`-${number.golds[0]}`, number.golds[0]);
  expect([world, arpo].map((each) => each.start(number).score(minus).reward)).toEqual([0, 1]);
  expect(both([{ role: "assistant", content: `<answer> \\boxed{ ${task.golds[0]} } </answer>` }])).toEqual([0, -1]);
  // Right, and shown by nothing: guessed. A longer number that has it inside does not show it.
  expect(both(answering(task.golds[0]))).toEqual([0, 1]);
  expect(both(response(task.golds[0], `1${task.golds[0]}1`))).toEqual([0, 1]);
  const called: Message[] = [
    { role: "assistant", content: "<think> a </think><search> a </search>" },
    { role: "tool", name: "search", content: `Page 1: Atlas: The boss of a is now ${task.golds[0]}.` },
    { role: "assistant", content: "<think> a </think><python> 1 </python>" },
    { role: "tool", name: "python", content: "1" },
    ...response(task.golds[0]),
  ];
  expect(both(called)).toEqual([1, 1.1]);
  expect(world.start(task).score(called).scores).toEqual({ success: 1, format: 1, searches: 2, calculations: 1 });
});

test("a calculation counts that derives the answer from numbers that were seen", () => {
  const calculating = knowledgeEnvironment({ kinds: ["times"] });
  const task = taskOf(calculating, 1);
  const [count] = task.question.match(/\d+/) ?? [];
  const [gold] = task.golds;
  const number = String(Number(gold) / Number(count));
  const after = (shown: string, ...codes: string[]): number =>
    calculating.start(task).score([
      { role: "assistant", content: "<think> a </think><search> a </search>" },
      { role: "tool", name: "search", content: `Page 1: Mirror: The age of a is now ${shown}.` },
      ...codes.flatMap((code): Message[] => [
        { role: "assistant", content: `<think> a </think><python> ${code} </python>` },
        { role: "tool", name: "python", content: evaluate(code) },
      ]),
      ...answering(gold),
    ]).reward;
  expect(after(number, `${count} * ${number}`)).toBe(1);
  expect(after(number, `${number} * 1`, `${number} * ${count}`)).toBe(1);
  for (const guess of [gold, `${gold} * 1`, `${gold} + 0`, `print(${gold})`, `${Number(gold) - 7} + 7`])
    expect(after(number, guess), guess).toBe(0);
  // The page that the number is from was never shown.
  expect(after("11", `${count} * ${number}`)).toBe(0);
  expect(after(gold)).toBe(0);
});

test("a difference is as often below zero as above", () => {
  const differences = knowledgeEnvironment({ kinds: ["more", "chained_more"] });
  const below = Array.from({ length: 200 }, (_, i) => Number(taskOf(differences, i).golds[0]) < 0).filter(Boolean).length;
  expect(below).toBeGreaterThan(80);
  expect(below).toBeLessThan(120);
});

test("a name with its role and without is right; somebody else of that name is not", () => {
  const clear = knowledgeEnvironment({ kinds: ["fact"], ambiguity: 1 });
  const task = Array.from({ length: 50 }, (_, i) => taskOf(clear, i)).find(({ golds }) => /^(doctor|baker) /.test(golds[0]));
  if (task === undefined) throw new Error("no question about a doctor or a baker");
  const [full, name] = task.golds;
  const rewardOf = (answer: string) => clear.start(task).score(response(answer, full)).reward;
  expect([full, name, `The ${full}.`, `nurse ${name}`, name.split(" ")[0]].map(rewardOf)).toEqual([1, 1, 1, 0, 0]);
});

test("pages, calls and tokens of a response are the settings'", () => {
  const task = taskOf(world, 0);
  const { query } = { query: "the mayor of" };
  const lines = (pages: number) => call(knowledgeEnvironment({ pages }), task, "search", { query }).split("\n").length;
  expect([1, 2, 5].map(lines)).toEqual([1, 2, 5]);
  expect(call(world, task, "search", { query: "zzz" })).toBe("No search results found.");
  const { protocol } = knowledgeEnvironment({ calls: 1, responseTokens: 99 }).start(task);
  expect(protocol.continuation.maxResponseTokens).toBe(99);
  const action = "<think> a </think><search> a </search>";
  const first = protocol.actions.read(action, []);
  expect(first.calls).toHaveLength(1);
  expect(protocol.actions.read(action, [first.message, { role: "tool", name: "search", content: "b" }]).calls).toEqual([]);
});

test("prompts tell the protocol in short or in full", () => {
  const promptOf = (settings: object) => knowledgeEnvironment(settings).start(taskOf(world, 0)).messages[0].content;
  expect(promptOf({})).toBe("Answer with search and python.");
  expect(promptOf({ prompt: "full" })).toMatch(/<search> query <\/search>/);
});

test("a copy of an episode goes its own way", () => {
  const task = taskOf(world, 5);
  const episode = world.start(task);
  const copy = episode.clone?.();
  expect(copy?.score(response(task.golds[0]))).toMatchObject({ reward: 1 });
  expect(episode.score(response("nobody"))).toMatchObject({ reward: 0 });
});

test("settings are checked", () => {
  expect(createEnvironment("knowledge", {}).name).toBe("knowledge");
  for (const wrong of [
    { kinds: [] },
    { kinds: ["riddle" as KindName] },
    { ambiguity: 2 },
    { pages: 0 },
    { reward: "dense" },
    { colour: 1 },
  ])
    expect(() => knowledgeEnvironment(wrong)).toThrow(ConfigError);
});
