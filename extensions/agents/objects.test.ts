import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { agentOfObject } from "./objects.ts";

test("an agent that generates is asked its prompt, and one of the AI SDK an object with it", async () => {
  const asked: unknown[] = [];
  const generate = async (given: unknown) => {
    asked.push(given);
    return { text: "said" };
  };
  for (const version of [undefined, "1.0.0", "agent-v1"]) expect(await agentOfObject({ version, generate })?.("Hi")).toBe("said");
  expect(asked).toEqual(["Hi", "Hi", { prompt: "Hi" }]);
});

test("a graph of LangGraph is invoked with a message, and its last one is the answer", async () => {
  const invoke = async ({ messages }: { messages: object[] }) => ({ messages: [...messages, { text: "no" }, { text: "said" }] });
  expect(await agentOfObject({ invoke, streamEvents: () => {} })?.("Hi")).toBe("said");
  expect(agentOfObject({ invoke })).toBeUndefined();
});

test("an agent of OpenAI is run by the runner beside it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-agents-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const runner = join(folder, "node_modules/@openai/agents");
  mkdirSync(runner, { recursive: true });
  writeFileSync(join(runner, "package.json"), '{"name":"@openai/agents","type":"module","main":"index.js"}');
  writeFileSync(
    join(runner, "index.js"),
    "export const run = async (agent, prompt) => ({ finalOutput: [agent.name, prompt].join(': ') });",
  );
  const agent = agentOfObject({ name: "desk", handoffs: [] }, join(folder, "agent.js"));
  expect(await agent?.("Hi")).toBe("desk: Hi");
});

test("another object is no agent", () => {
  for (const object of [{}, { name: "x" }, { generate: "x" }, { handoffs: "x" }]) expect(agentOfObject(object)).toBeUndefined();
});
