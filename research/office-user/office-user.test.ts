import { expect, test } from "vitest";
import { demonstrate } from "../../extensions/office/demonstrations.ts";
import { completeSettings } from "../../extensions/office/settings.ts";
import type { OfficeTask } from "../../extensions/office/task.ts";
import { ConfigError } from "../../src/core/errors.ts";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import type { Episode } from "../../src/environments/environment.ts";
import { officeUserEnvironment, talk } from "./office-user.ts";
import { type Said, scriptedUser } from "./user.ts";

const settings = completeSettings({ ...officeDefaultsOf(), faults: 0 });
function officeDefaultsOf() {
  return { difficulty: "default", reward: "sparse", faults: 0, spareCalls: 9, prompt: "short" } as const;
}
const world = officeUserEnvironment({ office: { faults: 0, spareCalls: 9 } }, {});
const taskOf = (index: number) => world.task("train", index) as OfficeTask;
const requests = (texts: readonly string[], meant?: string) =>
  ({ requests: texts.map((text) => ({ text, meant })) }) as unknown as OfficeTask;
const assistant = (content: string): Said => ({ role: "assistant", content });

/** Plays the assistant's part of a conversation: its calls, and what it says. */
async function play(episode: Episode, messages: readonly Message[]): Promise<string[]> {
  const heard: string[] = [];
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    const { toolCalls = [], ...said } = message as AssistantMessage;
    for (const { name, arguments: args } of toolCalls)
      await episode.tools.find((tool) => tool.name === name)?.execute(args, { signal: new AbortController().signal });
    if (toolCalls.length > 0) continue;
    const reply = await episode.reply(said);
    heard.push(reply.done ? "(end)" : (reply.messages ?? []).map(({ content }) => content).join());
  }
  return heard;
}

test("the scripted user puts one request after the other, and answers one question in each", () => {
  const task = requests(["Pay Ana 4.", "Tell Bo."], "Ana Kim.");
  const after = (...said: Said[]) => scriptedUser.next(task, said, 1);
  expect(after()).toBe("Pay Ana 4.");
  expect(after(assistant("Which Ana?"))).toBe("Ana Kim.");
  expect(after(assistant("Which Ana?"), assistant("Sure?"))).toBe("Tell Bo.");
  expect(after(assistant("Paid."), assistant("Which Bo?"))).toBe("Ana Kim.");
  expect(after(assistant("Paid."), assistant("Told."))).toBeUndefined();
  expect(scriptedUser.next(requests(["Pay Ana 4."]), [assistant("Which?")], 1)).toBe("I do not know.");
});

test("an episode is solved by the state that the expert leaves, whatever is said, and by no other", async () => {
  let changed = 0;
  for (let index = 0; index < 12; index++) {
    const task = taskOf(index);
    const expert = await world.start(task, 1);
    await play(expert, demonstrate(task, randomStream(0)).messages);
    expect((await expert.score([])).scores?.success).toBe(1);
    const idle = await world.start(task, 1);
    const wanted = task.requests.some(({ changes }) => changes.length > 0);
    expect((await idle.score([])).reward).toBe(wanted ? 0 : 1);
    changed += Number(wanted);
  }
  expect(changed).toBeGreaterThan(6);
});

test("the user's words are the episode's messages: its first beside the office's prompt, and the end when it has no more", async () => {
  const task = taskOf(0);
  const heard: (readonly Said[])[] = [];
  const user = {
    next: (_: OfficeTask, said: readonly Said[]) => {
      heard.push([...said]);
      return ["One.", "Two.", undefined][heard.length - 1];
    },
  };
  const episode = await talk(task, settings, user, 7);
  expect(episode.messages.map(({ role, content }) => [role, content])).toEqual([
    ["system", "You are an office assistant."],
    ["user", "One."],
  ]);
  expect(
    await play(episode, [
      { role: "assistant", content: "Hm." },
      { role: "assistant", content: "Ok." },
    ]),
  ).toEqual(["Two.", "(end)"]);
  expect(heard[2]?.map(({ content }) => content)).toEqual(["One.", "Hm.", "Two.", "Ok."]);
  expect((await episode.score([])).scores?.userTurns).toBe(2);
});

test("a user that never stops ends after its thirtieth message", async () => {
  const episode = await talk(taskOf(0), settings, { next: () => "And?" }, 1);
  const heard = await play(
    episode,
    Array.from({ length: 40 }, () => ({ role: "assistant" as const, content: "Yes." })),
  );
  expect(heard.indexOf("(end)")).toBe(29);
});

test("settings are refused before an episode: no key, no folder of answers", () => {
  const user = { kind: "endpoint", model: "m", baseUrl: "http://127.0.0.1:1/v1", answers: "kept" };
  expect(() => officeUserEnvironment({ user }, {})).toThrow(ConfigError);
  expect(() => officeUserEnvironment({ user }, {})).toThrow("environment variable OPENAI_API_KEY");
  expect(() => officeUserEnvironment({ user: { ...user, answers: undefined } }, {})).toThrow("answers is missing");
  expect(officeUserEnvironment({ user: { ...user, apiKeyEnv: null } }, {}).name).toBe("office-user");
});
