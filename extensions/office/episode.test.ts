import { expect, test } from "vitest";
import type { ToolCall } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import { demonstrate } from "./demonstrations.ts";
import { type OfficeEpisode, startEpisode } from "./episode.ts";
import type { KindName } from "./kinds.ts";
import { officeEnvironment } from "./office.ts";
import { close, closed, type Plan } from "./plan.ts";
import { couriers, folders } from "./rules.ts";
import type { OfficeTask } from "./task.ts";

const settings = { reward: "sparse", prompt: "short" } as const;
const context = { signal: new AbortController().signal };
const say = (episode: OfficeEpisode, content: string) => episode.reply({ role: "assistant", content });
const call = (episode: OfficeEpisode, name: string, args: ToolCall["arguments"]) =>
  episode.tools.find((tool) => tool.name === name)?.execute(args, context);

/** The first training task with these kinds of request that fits. */
function taskOf(kinds: readonly KindName[], fits: (task: OfficeTask) => boolean = () => true, more: object = {}): OfficeTask {
  const office = officeEnvironment({ kinds, requests: { min: kinds.length, max: kinds.length }, faults: 0, ...more });
  for (let index = 0; index < 3000; index++) {
    const task = office.task("train", index) as OfficeTask;
    if (task.kind === kinds.join("+") && fits(task)) return task;
  }
  throw new Error(`no task of ${kinds.join("+")} fits`);
}

const isAmbiguous = ({ requests }: OfficeTask) => requests[0].meant !== undefined;

test("asked which of two people that it was shown, the user answers; asked before it looked, the request is lost", () => {
  const task = taskOf(["pay"], isAmbiguous);
  const [first] = task.requests[0].meant?.split(" ") ?? [];
  const shown = startEpisode(task, settings);
  call(shown, "find_contact", { name: first });
  expect(say(shown, `Which ${first}?`)).toMatchObject({ messages: [{ content: task.requests[0].meant }] });

  const early = startEpisode(task, settings);
  expect(say(early, `Which ${first}?`)).toMatchObject({ messages: [{ content: "I do not know." }] });
  for (const message of demonstrate(task, randomStream(1)).messages) {
    if (message.role !== "assistant") continue;
    for (const { name, arguments: args } of message.toolCalls ?? []) call(early, name, args);
  }
  say(early, task.requests[0].closing);
  expect(early.score()).toMatchObject({ reward: 0, scores: { said: 1, needless: 1 } });
  expect(say(early, "Done.")).toEqual({ done: true });

  const sure = startEpisode(task, settings);
  call(sure, "find_contact", { name: task.requests[0].meant });
  expect(say(sure, `Which ${first}?`)).toMatchObject({ messages: [{ content: "I do not know." }] });
});

test("somebody is meant by more than was said where two people have the name, and only there", () => {
  const office = officeEnvironment({ difficulty: "large", kinds: ["pay"], requests: { min: 1, max: 1 }, faults: 0 });
  const wanted = Array.from({ length: 200 }, (_, index) => office.task("train", index) as OfficeTask).map((task) => {
    const [{ text, meant }] = task.requests;
    const names = task.world.contacts.map(({ name }) => name);
    const saysWhole = names.some((name) => text.includes(name));
    const fitting = names.filter((name) => text.includes(name.replace(/ .*/, "")));
    return { meant: meant !== undefined, doubled: !saysWhole && fitting.length > 1, single: !saysWhole && fitting.length === 1 };
  });
  expect(wanted.filter(({ doubled }) => doubled).length).toBeGreaterThan(20);
  expect(wanted.filter(({ single }) => single).length).toBeGreaterThan(10);
  expect(wanted.filter(({ meant, doubled }) => meant !== doubled)).toEqual([]);
});

test("the whole prompt names each folder and courier", () => {
  const [system] = startEpisode(taskOf(["pay"]), { ...settings, prompt: "full" }).messages;
  expect(system.content).toContain(`(${folders.join(", ")})`);
  expect(system.content).toContain(`(${couriers.join(", ")})`);
  expect(system.content).toContain("never make up an id. If a first name");
});

test("the same deed by other calls and in other words is as good", () => {
  const task = taskOf(["pay"], (task) => !isAmbiguous(task) && task.requests[0].changes.length === 1);
  const [line] = task.requests[0].changes;
  const [, id, amount] = /^paid (c\d\d) (\d+)$/.exec(line) ?? [];
  const episode = startEpisode(task, settings);
  call(episode, "today", {});
  call(episode, "pay", { id, amount: Number(amount) });
  say(episode, `I sent ${amount} to ${task.requests[0].closing.slice(5, -1 - amount.length - 1)}`);
  expect(episode.score().reward).toBe(1);
});

test("a refusal and the deed exclude each other", () => {
  const task = taskOf(["delete_file"], ({ requests }) => requests[0].closing.endsWith("locked."));
  const [file] = task.world.files.filter(({ name }) => task.requests[0].closing.includes(name));
  const score = (words: string, deletes: boolean) => {
    const episode = startEpisode(task, settings);
    if (deletes) call(episode, "delete_file", { id: file.id });
    say(episode, words);
    return episode.score().reward;
  };
  // Whoever saw the lock has an occasion to say so; who did not look has none.
  const counted = (looks: boolean, words: string) => {
    const episode = startEpisode(task, settings);
    if (looks) call(episode, "find_file", { name: file.name });
    say(episode, words);
    return episode.score().behaviours?.["says what cannot be done"];
  };
  expect(counted(true, `Sorry, ${file.name} is locked.`)).toEqual({ done: 1, called: 1 });
  expect(counted(true, "Done.")).toEqual({ done: 0, called: 1 });
  expect(counted(false, "Done.")).toBeUndefined();
  const refusal = `Sorry, ${file.name} is locked.`;
  expect(score(refusal, false)).toBe(1);
  expect(score(refusal, true)).toBe(0);
  expect(score(`The ${file.type} ${file.name} is gone.`, true)).toBe(0);
});

test("a busy tool works the second time, a closed one never", () => {
  for (const state of ["busy", "closed"] as const) {
    const task = taskOf(["cancel"], ({ world }) => world.fault?.state === state, { faults: 1 });
    const episode = startEpisode(task, settings);
    const answers = [1, 2].map(() => call(episode, "cancel_event", { id: task.world.events[0].id }));
    expect(answers).toEqual(state === "busy" ? ["busy, try again", "ok"] : ["closed today", "closed today"]);
  }
});

test("calls are limited: beyond the expert's and the spare ones nothing happens", () => {
  const task = taskOf(["cancel"], ({ requests }) => requests[0].changes.length === 1);
  const episode = startEpisode(task, settings);
  for (let i = 0; i < task.world.callsLeft; i++) call(episode, "today", {});
  expect(call(episode, "cancel_event", { id: task.world.events[0].id })).toBe("no calls left");
  expect(episode.score().reward).toBe(0);
});

test("an expert without calls left gives up, whatever it was about to do", () => {
  const task = taskOf(["pay"], isAmbiguous);
  const state = { slips: () => false, chooses: <T>(_: unknown, right: T) => right };
  for (const answers of [["no calls left"], ['[{"id": "c10"}, {"id": "c11"}]', "Ana Kim", "no calls left"]]) {
    const plan = task.requests[0].solve(state);
    plan.next();
    const steps = answers.map((answer) => plan.next(answer));
    expect(steps.at(-1)).toEqual({ done: true, value: "Sorry, I cannot." });
  }
});

test("a plan that ends early has its closing words; another error stays one", () => {
  // biome-ignore lint/correctness/useYield: it ends before.
  function* ending(end: () => never): Plan {
    return end();
  }
  expect(closed(ending(() => close("Paid."))).next()).toEqual({ done: true, value: "Paid." });
  const failing = closed(
    ending(() => {
      throw new RangeError("no room");
    }),
  );
  expect(() => failing.next()).toThrow("no room");
});

test("dense is the share of requests that were fulfilled", () => {
  const task = taskOf(["when", "when"], ({ requests }) => requests.every(({ closing }) => !closing.startsWith("Sorry")));
  const episode = startEpisode(task, { ...settings, reward: "dense" });
  say(episode, "Done.");
  say(episode, task.requests[1].closing);
  expect(episode.score()).toMatchObject({ reward: 0.5, scores: { success: 0, requests: 0.5, "kind.when": 0.5 } });
});

test("a clone goes its own way from the same state", () => {
  const task = taskOf(["when", "when"], ({ requests }) => requests.every(({ closing }) => !closing.startsWith("Sorry")));
  const original = startEpisode(task, settings);
  say(original, task.requests[0].closing);
  const clone = original.clone();
  say(clone, task.requests[1].closing);
  say(original, "Done.");
  expect([clone.score().reward, original.score().reward]).toEqual([1, 0]);
});
