import "../../../test/clocked-engine.ts";
import "../../../test/office.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { Environment } from "../../../src/environments/environment.ts";
import { addEnvironments } from "../../../src/environments/registry.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { clock, end, startClock } from "../../../test/clocked-engine.ts";
import { lettersEnvironment, lettersTokenizer } from "../../../test/letters.ts";
import { chatCommand } from "./chat.ts";

beforeEach(startClock);
const model = mkdtempSync(join(tmpdir(), "retrograde-talk-"));
afterAll(() => rmSync(model, { recursive: true }));
writeFileSync(join(model, "tokenizer.json"), JSON.stringify(lettersTokenizer.tokenizer));
writeFileSync(join(model, "tokenizer_config.json"), JSON.stringify(lettersTokenizer.config));

const letters = lettersEnvironment(3);
const tool = { name: "cut", description: "Cuts.", parameters: { type: "object", properties: {} }, execute: () => "" } as const;
const worlds: Readonly<Record<string, Partial<Environment>>> = {
  letters,
  tooled: {
    start: async (task, seed) => ({ ...(await letters.start(task as never, seed)), tools: [tool, { ...tool, name: "sew" }] }),
  },
  silent: { start: async (task, seed) => ({ ...(await letters.start(task as never, seed)), messages: [] }) },
};
addEnvironments(
  Object.fromEntries(
    Object.entries(worlds).map(([name, world]) => [`talk-${name}`, () => ({ ...letters, ...world, name }) as never]),
  ),
);

async function chat(lines: readonly string[], environment?: string, set: readonly string[] = []) {
  let out = "";
  const named = environment === undefined ? [] : [`environment.name=talk-${environment}`];
  const flags = { model, set: ["engine.kind=clocked", ...named, ...set] };
  const input = Readable.from(lines.map((line) => `${line}\n`));
  const code = await chatCommand(flags, createScreen({ write: (part: string) => (out += part), columns: 100 }), input);
  return { code, lines: out.trimEnd().split("\n") };
}
const user = (text: string) => `user       ${text}`;
const said = "assistant  b";
const help = "An empty line is ignored; /quit or the end of the input ends.";

test("a model that is named alone talks until the input ends, and empty lines are left out", async () => {
  const { code, lines } = await chat(["cab", "", "  ", " abc "]);
  expect([code, ...lines]).toEqual([0, help, user("cab"), said, user("abc"), said]);
  expect(clock.asked.map(({ maxTokens, temperature }) => [maxTokens, temperature])).toEqual([
    [1024, 1],
    [1024, 1],
  ]);
  // The whole conversation is the context, and the model was opened for one reader.
  expect(clock.asked[1].context.length).toBeGreaterThan(clock.asked[0].context.length);
  expect(clock.purposes).toEqual([{ use: expect.objectContaining({ training: false, concurrency: 1 }), seed: 1 }]);
  expect(clock.disposed).toBe(1);
});

test("/quit ends, also before anything was said", async () => {
  expect((await chat(["cab", "/quit", "abc"])).lines).toEqual([help, user("cab"), said]);
  expect(await chat([" /quit "])).toEqual({ code: 0, lines: [help] });
  expect(clock.asked).toHaveLength(1);
});

test("a world shows its tools and an example, and its own limit of tokens holds", async () => {
  const { lines } = await chat(["cab"], "tooled", ["rollout.maxTokens=7", "rollout.hiddenTools=allow", "seed=4"]);
  // The task of the seed: the second of three.
  const { prompt } = await letters.task("test", 1);
  expect(lines).toEqual(["Tools: cut, sew", `Somebody in this world might ask: ${prompt}`, help, user("cab"), said]);
  expect(clock.asked[0].maxTokens).toBe(7);
  expect((await chat([], "silent")).lines).toEqual([help]);
});

test("a conversation that ended otherwise says why, with what was said last", async () => {
  clock.says = () => ({ tokens: [1, 2, 3], logprobs: [-1, -1, -1], finish: "length" });
  const { code, lines } = await chat(["cab"], "letters", ["rollout.maxTokens=3"]);
  expect([code, ...lines.slice(-3)]).toEqual([...[0, user("cab"), "assistant  bcs", "The conversation ended: max-tokens"]]);
  clock.says = () => {
    throw new Error("broken");
  };
  await expect(chat(["cab"], "letters")).rejects.toThrow("broken");
  expect(clock.disposed).toBe(2);
  expect(end).toBe(6);
});
