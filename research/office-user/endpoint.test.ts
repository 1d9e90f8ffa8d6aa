import "../../test/loopback.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { judgeServer, type Reaction } from "../../extensions/judge/server.fixture.ts";
import type { OfficeTask } from "../../extensions/office/task.ts";
import { rollout } from "../../src/rollouts/rollout.ts";
import { testChat } from "../../test/fixtures/chats.ts";
import { scriptedSampler } from "../../test/scripted-sampler.ts";
import { officeUserEnvironment } from "./office-user.ts";

const chat = testChat("plain");
/** An agent that says these one after the other. */
const saying = (...texts: readonly string[]) => {
  let next = 0;
  return scriptedSampler(chat.tokenizer, () => texts[next++] ?? "Done.");
};
const options = { id: "t/0", group: "t", seed: 3, maxTurns: 9, maxTokens: 4000, episodeTimeoutMs: 20_000 };

async function simulated(react: (number: number) => Reaction, answers = mkdtempSync(join(tmpdir(), "retrograde-user-"))) {
  const { baseUrl, requests } = await judgeServer((_, number) => react(number));
  const user = { kind: "endpoint", model: "wise", baseUrl, apiKeyEnv: "USER_KEY", retries: 0, answers };
  const world = officeUserEnvironment({ user }, { USER_KEY: "sk-secret-1" });
  const play = () => rollout(saying("Hello.", "Done.", "Done."), chat, world, world.task("train", 0) as OfficeTask, options);
  return { requests, play, answers };
}
const script = (number: number): Reaction => ({
  content: ["Pay Ana.", "Thanks. sk-secret-1", "###STOP###"][number - 1] ?? "###STOP###",
});

test("the user's turns are context alone, asked for with seeds, and a second play hears them without the server", async () => {
  const first = await simulated(script);
  const played = await first.play();
  expect([played.stopReason, played.error]).toEqual(["done", undefined]);
  expect(played.messages.map(({ content }) => content).slice(1)).toEqual(["Pay Ana.", "Hello.", "Thanks. [API key]", "Done."]);
  const trained = played.turns.map(({ action }) => chat.tokenizer.decode(action));
  expect(trained.join()).not.toContain("Ana");
  expect(first.requests[0]).toMatchObject({ model: "wise", temperature: 1, authorization: "Bearer sk-secret-1" });
  const seeds = first.requests.map((request) => (request as { seed?: number }).seed);
  expect([new Set(seeds).size, seeds.every(Number.isInteger)]).toEqual([3, true]);
  expect(first.requests[1]?.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(readFileSync(join(first.answers, "user.jsonl"), "utf8")).not.toContain("sk-secret-1");

  const again = await simulated(() => ({ status: 500 }), first.answers);
  const user = {
    kind: "endpoint",
    model: "wise",
    baseUrl: "http://127.0.0.1:1/v1",
    apiKeyEnv: null,
    retries: 0,
    answers: first.answers,
  };
  const offline = officeUserEnvironment({ user }, {});
  const task = offline.task("train", 0) as OfficeTask;
  const replayed = await rollout(saying("Hello.", "Done."), chat, offline, task, options);
  expect(replayed.messages).toEqual(played.messages);
  expect(replayed.turns.map(({ context }) => [...context])).toEqual(played.turns.map(({ context }) => [...context]));
  expect(again.requests).toEqual([]);
});

test.each([
  ["a server that fails", { status: 500 } as const],
  ["an empty message", { content: "  " }],
])("%s is a fault of the environment, never a score", async (_, reaction) => {
  const late = await simulated((number) => (number === 1 ? { content: "Pay Ana." } : reaction));
  const { stopReason, error } = await late.play();
  expect(stopReason).toBe("environment-error");
  expect(error).toBeDefined();
  const early = await (await simulated(() => reaction)).play();
  expect(early.stopReason).toBe("environment-error");
});
