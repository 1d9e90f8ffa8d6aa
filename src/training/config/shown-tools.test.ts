import "../../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { lettersEnvironment } from "../../../test/letters.ts";
import type { Chat } from "../../chat/chat.ts";
import { ConfigError, ModelError } from "../../core/errors.ts";
import type { Message } from "../../core/messages.ts";
import type { Environment } from "../../environments/environment.ts";
import { createRun } from "../../runs/write.ts";
import { defineTool, type Tool } from "../../tools/tool.ts";
import { resolveConfig } from "./config.ts";
import { firstPrompt, requireFirstPrompt } from "./first-prompt.ts";
import { bundledModels, isBundled, recordedEnvironment, runOfModel, trainedIn } from "./known-models.ts";
import { checkShownTools } from "./shown-tools.ts";
import type { UserConfig } from "./user-config.ts";

const tools: readonly Tool[] = ["find", "open"].map((name) =>
  defineTool({ name, description: "", parameters: z.strictObject({}), execute: () => "" }),
);
/** A template that shows messages, and tools where it is told so. */
const chatOf = (shows: boolean, more: Partial<Chat> = {}): Chat =>
  ({
    ...{ toolsIn: "template", calls: () => ({ name: "hermes" }) },
    open: (messages: readonly Message[], given: readonly Tool[]) => ({
      text: messages.map(({ content }) => content).join("") + (shows ? given.map(({ name }) => name).join("") : ""),
    }),
    ...more,
  }) as unknown as Chat;
const environmentOf = (content: string, given: readonly Tool[] = tools, more: object = {}): Environment => ({
  ...lettersEnvironment(),
  start: () => ({ messages: [{ role: "user", content }], tools: given, ...more }) as never,
});
const check = (chat: Chat, environment: Environment, user: UserConfig = {}) =>
  checkShownTools(chat, environment, resolveConfig({ environment: "desk", model: "some/model", ...user }));

test("tools that a prompt shows, by its template or by its words, need no notice", async () => {
  expect(await check(chatOf(true), environmentOf("hi"))).toBeUndefined();
  expect(await check(chatOf(false), environmentOf("call find or open"))).toBeUndefined();
  expect(await check(chatOf(false), environmentOf("hi", []))).toBeUndefined();
  expect(await check(chatOf(false), environmentOf("hi", tools, { protocol: { name: "text" } }))).toBeUndefined();
  expect(await check(chatOf(false), environmentOf("hi"), { rollout: { hiddenTools: "allow" } })).toBeUndefined();
  const broken = { ...lettersEnvironment(), start: () => Promise.reject(new Error("no database")) };
  expect(await check(chatOf(false), broken)).toBeUndefined();
});

test("tools that a prompt hides are an error, unless the model has learned them or will", async () => {
  const hidden = environmentOf("call find");
  await expect(check(chatOf(false), hidden)).rejects.toThrow(
    new ConfigError("the chat template of some/model", "the same prompt with and without tools", {
      expected: 'a prompt that shows the tools of "letters": open',
      hint:
        "Use a model whose template shows tools, such as an instruct model of Qwen; or describe each tool by its name in the system message; " +
        'or teach the model by `retrograde-rl sft`. rollout.hiddenTools "allow" trains it as it is.',
    }),
  );
  await expect(check(chatOf(false), environmentOf("hi"))).rejects.toThrow('the tools of "letters": find, open.');
  const sft = { algorithm: { kind: "sft", data: "rows.jsonl" } } as const;
  expect(await check(chatOf(false), hidden, sft)).toBe(
    "The chat template does not show the model its 1 tools; it learns them from the demonstrations.",
  );
  expect(await check(chatOf(false), hidden, { model: "default" })).toBe(
    'The chat template does not show the model its 1 tools; it has learned them in "letters".',
  );
  expect(await check(chatOf(false), hidden, { environment: "office" })).toBe(
    'The chat template does not show the model its 1 tools (open, …): it can call them only if it was trained in "letters".',
  );
});

test("tools that are written into the system message are a notice, with what teaches a model to call them", async () => {
  const written = chatOf(true, { toolsIn: "system" });
  const notice =
    'The chat template shows no tools: they are written into the system message, and calls in the format "hermes" (chat.tools, chat.format).';
  expect(await check(written, environmentOf("hi"))).toBe(
    `${notice} A model that never calls so is taught by \`retrograde-rl sft\` on a few demonstrations.`,
  );
  expect(await check(written, environmentOf("hi"), { algorithm: { kind: "sft", data: "rows.jsonl" } })).toBe(notice);
  expect(await check(written, environmentOf("hi"), { model: "default" })).toBe(notice);
  expect(await check(written, environmentOf("hi", []))).toBeUndefined();
  expect(await check(written, environmentOf("hi", tools, { protocol: { name: "text" } }))).toBeUndefined();
});

test("a model whose calls nobody can read is refused where there are tools", async () => {
  const unread = (shows: boolean) =>
    chatOf(shows, {
      calls: () => {
        throw new ModelError("the chat template", "calls in no known format");
      },
    });
  await expect(check(unread(true), environmentOf("hi"))).rejects.toThrow("calls in no known format");
  expect(await check(unread(true), environmentOf("hi", []))).toBeUndefined();
  expect(await check(unread(true), environmentOf("hi", tools, { protocol: { name: "text" } }))).toBeUndefined();
});

test("the first prompt is that of the first task, and its episode is closed", async () => {
  const closed: string[] = [];
  const given: unknown[] = [];
  const environment: Environment = {
    ...lettersEnvironment(),
    start: (task, seed) => {
      given.push(task.id, seed);
      return { messages: [], tools, close: () => void closed.push(task.id) } as never;
    },
  };
  expect(await requireFirstPrompt(environment)).toEqual({ messages: [], tools });
  expect([given, closed]).toEqual([["train/0", 0], ["train/0"]]);
  const protocol = { name: "text" };
  expect(await firstPrompt(environmentOf("hi", [], { protocol }))).toEqual({
    messages: [{ role: "user", content: "hi" }],
    ...{ tools: [], protocol },
  });
  expect(await requireFirstPrompt({ ...environment, size: () => 0 })).toBeUndefined();
  const slow = { ...environment, start: () => new Promise<never>(() => {}) };
  await expect(requireFirstPrompt(slow, 1)).rejects.toThrow("no answer within 1 ms");
  expect(await firstPrompt(slow, 1)).toBeUndefined();
});

test("a model knows an environment if it is bundled with it, or came out of a run in it", () => {
  const run = join(mkdtempSync(join(tmpdir(), "retrograde-known-")), "run");
  createRun(run, resolveConfig({ environment: { name: "desk", settings: { size: 2 } } }));
  expect(["default", "bundled:office", "office", "some/model"].map(isBundled)).toEqual([true, true, false, false]);
  expect(bundledModels()).toContain("office");
  expect(bundledModels().every((name) => !name.includes("."))).toBe(true);
  expect([run, join(run, "model"), join(run, "other"), "some/model"].map(runOfModel)).toEqual([run, run, undefined, undefined]);
  expect(recordedEnvironment(run)).toEqual({ name: "desk", settings: { size: 2 } });
  const known = (model: string) => trainedIn(model, "desk");
  expect(["default", "bundled:desk", "bundled:office", run, join(run, "model"), "some/model"].map(known)).toEqual([
    ...[true, true, false, true, true, false],
  ]);
  expect(trainedIn(run, "office")).toBe(false);
});
