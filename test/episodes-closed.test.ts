import "./loopback.ts";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import "../extensions/install.ts";
import { adviseCommand } from "../extensions/check/cli/advise.ts";
import { environmentCheckCommand } from "../extensions/check/cli/env-check.ts";
import { chatCommand } from "../extensions/inspect/cli/chat.ts";
import { startEnvironmentServer } from "../extensions/serve/cli/serve-environment.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { evalCommand } from "../src/cli/commands/eval.ts";
import { sftCommand } from "../src/cli/commands/sft.ts";
import { trainCommand } from "../src/cli/commands/train.ts";
import { boundedEnvironment } from "../src/environments/bounded.ts";
import { defineEnvironment } from "../src/environments/define.ts";
import type { Environment } from "../src/environments/environment.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { scriptedSampler } from "./scripted-sampler.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Who takes an episode gives it back: every command, counted. */

const folder = mkdtempSync(join(import.meta.dirname, "../node_modules/.episodes-closed-"));
const model = join(folder, "model");
const config = join(folder, "config.mjs");
const seen = { started: 0, closed: 0 };
const rows: { prompt: string; answer: string }[] = Array.from({ length: 24 }, (_, i) => ({
  prompt: `say ${"abcfghij"[i % 8]}`,
  answer: "abcfghij"[i % 8] ?? "",
}));
const counted = (demonstrates: boolean): Environment =>
  defineEnvironment<(typeof rows)[number]>({
    name: "counted",
    tasks: { train: rows.slice(0, 16), test: rows.slice(16) },
    start: ({ answer }) => {
      seen.started++;
      return { tools: [], close: () => void seen.closed++, reward: (end) => Number(end.answer.includes(answer)) };
    },
    ...(demonstrates ? { demonstrate: ({ answer }) => [{ role: "assistant" as const, content: answer }] } : {}),
  });
const shared = globalThis as { countedEnvironment?: Environment };
const screen = createScreen({ write: () => true });

beforeAll(async () => {
  const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, "../models/office", name), "utf8"));
  await writeTinyModel(model, { tokenizer: read("tokenizer.json"), config: read("tokenizer_config.json") });
  const settings = `model: ${JSON.stringify(model)}, steps: 1, engine: { threads: 1 }, evaluation: { tasks: 4, k: 1 }, rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 4, episodeTimeoutMs: 60_000 }`;
  writeFileSync(config, `export default { environment: globalThis.countedEnvironment, ${settings} };`);
});
beforeEach(() => {
  Object.assign(seen, { started: 0, closed: 0 });
  shared.countedEnvironment = counted(true);
});
afterAll(() => {
  delete shared.countedEnvironment;
  rmSync(folder, { recursive: true });
});

const out = (name: string) => join(folder, name);
const commands: Readonly<Record<string, () => Promise<unknown>>> = {
  "env check without an expert": () =>
    environmentCheckCommand(undefined, { config, sampling: false, evaluationTasks: "4" }, screen),
  "env check with a model": () => environmentCheckCommand(undefined, { config, evaluationTasks: "4" }, screen),
  advise: () => adviseCommand([], { config, memory: "8" }, screen),
  train: () => trainCommand({ config, dashboard: false, algorithm: "grpo", out: out("grpo") }, screen),
  "train with branching": () =>
    trainCommand(
      { config, dashboard: false, algorithm: "grpo", out: out("tree"), set: ["rollout.groupSize=4", "rollout.branching={}"] },
      screen,
    ),
  sft: () => sftCommand({ config, model: "bundled:office", dashboard: false, out: out("sft") }, screen),
  eval: () => evalCommand({ config, out: out("eval") }, screen, screen),
  "chat that is left": () => chatCommand({ config }, screen, Readable.from(["/quit\n"])),
  "chat of one answer": () => chatCommand({ config }, screen, Readable.from(["say a\n"])),
  "serve --as ors, asked for its tools": async () => {
    const server = await startEnvironmentServer({ as: "ors", port: 0, config }, screen);
    await (await fetch(`${server.baseUrl}/counted/tools`)).text();
    await server.close();
  },
  "serve --as ors, a session that nobody ends": async () => {
    const server = await startEnvironmentServer({ as: "ors", port: 0, config }, screen);
    const headers = { "x-session-id": "one", "content-type": "application/json" };
    const body = JSON.stringify({ split: "train", index: 0 });
    await (await fetch(`${server.baseUrl}/create`, { method: "POST", headers, body })).text();
    await (await fetch(`${server.baseUrl}/counted/prompt`, { headers })).text();
    await server.close();
  },
};

test.each(Object.entries(commands))("%s closes every episode that it starts", async (_, run) => {
  await run();
  expect(seen.started).toBeGreaterThan(0);
  expect(seen.closed).toBe(seen.started);
});

test("an episode that comes too late, or is none, is closed too", async () => {
  const late: Environment = {
    name: "late",
    size: () => 1,
    task: () => ({ id: "0" }),
    start: async () => {
      seen.started++;
      await new Promise((go) => setTimeout(go, 60));
      return {
        messages: [],
        tools: [],
        reply: () => ({ done: true }),
        score: () => ({ reward: 0 }),
        close: () => void seen.closed++,
      };
    },
  };
  await expect(boundedEnvironment(late, { timeoutMs: 10 }).start({ id: "0" }, 0)).rejects.toThrow("no answer within 10 ms");
  const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../models/office")));
  const sampler = scriptedSampler(chat.tokenizer, () => "Done.");
  const identity = { id: "0/0", group: "0", seed: 1, maxTurns: 2, maxTokens: 4 };
  const slow = await rollout(sampler, chat, late, { id: "0" }, { ...identity, episodeTimeoutMs: 10 });
  expect(slow.stopReason).toBe("environment-timeout");
  const empty = await rollout(sampler, chat, late, { id: "0" }, { ...identity, episodeTimeoutMs: 10_000 });
  expect(empty.error).toMatch(/malformed answer: messages/);
  const wrong = defineEnvironment({
    name: "wrong",
    tasks: [{ prompt: "a" }],
    start: () => {
      seen.started++;
      return { tools: [], close: () => void seen.closed++, rewards: () => 1 } as never;
    },
  });
  await expect(async () => wrong.start(await wrong.task("train", 0), 0)).rejects.toThrow(
    /property of what start\(\) returns.*rewards/,
  );
  await expect.poll(() => seen).toEqual({ started: 4, closed: 4 });
});
