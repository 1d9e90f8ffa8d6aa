import { expect, test } from "vitest";
import type { ToolCall } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import { demonstrate } from "./demonstrations.ts";
import { type OfficeEpisode, startEpisode } from "./episode.ts";
import type { KindName } from "./kinds.ts";
import { officeClassicEnvironment } from "./office-classic.ts";
import type { OfficeTask } from "./task.ts";

const context = { signal: new AbortController().signal };

/** The first training task with these kinds of request that fits. */
async function taskOf(kinds: readonly KindName[], fits: (task: OfficeTask) => boolean = () => true): Promise<OfficeTask> {
  const office = officeClassicEnvironment({ kinds, requests: { min: kinds.length, max: kinds.length }, busy: 0 });
  for (let index = 0; index < 2000; index++) {
    const task = await office.task("train", index);
    if (task.kind === kinds.join("+") && fits(task)) return task;
  }
  throw new Error(`no task of ${kinds.join("+")} fits`);
}

const done = (task: OfficeTask) => task.requests.every(({ closing }) => closing === "Done.");
const unambiguous = (task: OfficeTask) => done(task) && task.requests.every(({ meant }) => meant === undefined);
const say = (episode: OfficeEpisode, content: string) => episode.reply({ role: "assistant", content });
const call = (episode: OfficeEpisode, { name, arguments: args }: ToolCall) =>
  episode.tools.find((tool) => tool.name === name)?.execute(args, context);
/** The expert's tool calls. */
const callsOf = (task: OfficeTask) =>
  demonstrate(task, randomStream(1)).messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []) : [],
  );

test("an episode begins with the first request, brings the next after each closing, and ends after the last", async () => {
  const task = await taskOf(["when", "pay"]);
  const episode = startEpisode(task, "sparse");
  expect(episode.messages.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(episode.messages[1].content).toBe(task.requests[0].text);
  expect(say(episode, "Done.")).toEqual({ done: false, messages: [{ role: "user", content: task.requests[1].text }] });
  expect(say(episode, "Paid.")).toEqual({ done: true });
  expect(say(episode, "Hello?")).toEqual({ done: true });
});

test("asked which person they mean, the user answers; asked for nothing, they do not know; asked twice, they go on", async () => {
  const ambiguous = startEpisode(await taskOf(["message"], ({ requests }) => requests[0].meant !== undefined), "sparse");
  const answer = say(ambiguous, "Which one?");
  expect(answer.done === false && answer.messages[0].content).toMatch(/^[A-Z][a-z]+ [A-Z][a-z]+$/);

  const clear = startEpisode(await taskOf(["message", "when"], ({ requests }) => requests[0].meant === undefined), "sparse");
  expect(say(clear, "Who?")).toEqual({ done: false, messages: [{ role: "user", content: "I do not know." }] });
  expect(say(clear, "Who?")).toMatchObject({ done: false, messages: [{ content: expect.not.stringContaining("know") }] });
});

test("the same final state by other steps is as good", async () => {
  const task = await taskOf(["move_event"], unambiguous);
  const episode = startEpisode(task, "sparse");
  const calls = callsOf(task);
  const [move] = calls.slice(-1);
  call(episode, { name: "move_event", arguments: { id: move.arguments.id, time: "17:30", day: "Friday" } });
  call(episode, {
    name: "move_event",
    arguments: { ...move.arguments, day: task.world.events.find(({ id }) => id === move.arguments.id)?.day },
  });
  say(episode, "That is done for you.");
  expect(episode.score().reward).toBe(1);
});

test("anything else that was changed costs the reward", async () => {
  const task = await taskOf(["pay"], unambiguous);
  const episode = startEpisode(task, "sparse");
  for (const step of callsOf(task)) call(episode, step);
  call(episode, { name: "cancel_event", arguments: { id: task.world.events[0].id } });
  say(episode, "Done.");
  expect(episode.score()).toEqual({
    reward: 0,
    scores: { success: 0, requests: 0, untouched: 0, answered: 1, "kind.pay": 0 },
  });
});

test("saying it is done is not doing it", async () => {
  const episode = startEpisode(await taskOf(["pay"], done), "sparse");
  say(episode, "Done.");
  expect(episode.score()).toMatchObject({ reward: 0, scores: { untouched: 1, "kind.pay": 0 } });
});

test("an episode that is cut off has no reward, even if its calls were right", async () => {
  const task = await taskOf(["pay"], unambiguous);
  const episode = startEpisode(task, "sparse");
  for (const step of callsOf(task)) call(episode, step);
  expect(episode.score().reward).toBe(0);
});

test.each([
  ["the expert's words", (right: string) => right, 1],
  ["other words with the same values", (right: string) => right.replace("It is", "You have it"), 1],
  ["more talk after it", (right: string) => `${right} Anything else?`, 1],
  ["another time", (right: string) => right.replace(/\d\d:\d\d/, "09:00"), 0],
  ["a second time beside the right one", (right: string) => `${right} Or at 09:00.`, 0],
  ["no day", (right: string) => right.replace(/on \w+day/, ""), 0],
  ["nothing", () => "Done.", 0],
])("a question answered by %s", async (_, words, reward) => {
  const task = await taskOf(["when"], ({ requests }) => !requests[0].closing.startsWith("Sorry"));
  const episode = startEpisode(task, "sparse");
  if (!say(episode, words(task.requests[0].closing)).done) say(episode, "Good.");
  expect(episode.score()).toMatchObject({ reward, scores: { answered: reward } });
});

test("what cannot be done must be said, and left alone", async () => {
  const task = await taskOf(["delete_file"], ({ requests }) => requests[0].closing.endsWith("locked."));
  const file = task.world.files.find(({ locked }) => locked);
  const score = (words: string, unlock = false) => {
    const episode = startEpisode(task, "sparse");
    if (unlock) call(episode, { name: "unlock_file", arguments: { id: file?.id } });
    say(episode, words);
    return episode.score().reward;
  };
  expect(score("Sorry, it is locked.")).toBe(1);
  expect(score("I cannot delete a locked file.")).toBe(1);
  expect(score("Done.")).toBe(0);
  expect(score("Sorry, it is locked.", true)).toBe(0);
});

test("dense is the share of requests that were fulfilled, whatever became of the others", async () => {
  const task = await taskOf(["pay", "pay"], unambiguous);
  const episode = startEpisode(task, "dense");
  say(episode, "Done.");
  for (const step of callsOf(task).slice(2)) call(episode, step);
  say(episode, "Done.");
  expect(episode.score()).toMatchObject({ reward: 0.5, scores: { success: 0, requests: 0.5, "kind.pay": 0.5, untouched: 1 } });
});

test("a clone goes its own way from the same state", async () => {
  const task = await taskOf(["pay", "message"], unambiguous);
  const calls = callsOf(task);
  const original = startEpisode(task, "sparse");
  for (const step of calls.slice(0, 2)) call(original, step);
  say(original, "Done.");
  const clone = original.clone();
  for (const step of calls.slice(2)) call(clone, step);
  say(clone, "Done.");
  expect(clone.score().reward).toBe(1);

  say(original, "Done.");
  expect(original.score()).toMatchObject({ reward: 0, scores: { "kind.pay": 1, "kind.message": 0 } });
  expect(startEpisode(task, "sparse").score()).toMatchObject({ scores: { "kind.pay": 0 } });
});
