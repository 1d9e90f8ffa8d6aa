import "../../test/loopback.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createScreen } from "../../src/terminal/screen.ts";
import type { AgentEnd, AgentRun } from "../agents/train-agent.ts";
import { checkAgent } from "./agent-check.ts";
import { agentCheckCommand } from "./cli/agent-check.ts";
import { environmentCheckCommand } from "./cli/env-check.ts";

const text = { type: "object", properties: { order: { type: "string" } }, required: ["order"] };
const shown = ["look_up", "refund"].map((name) => ({ type: "function", function: { name, description: "", parameters: text } }));

/** A shop: what it did, what it looked up and what it said. */
const shop = async (prompt: string, { baseUrl, apiKey }: AgentRun) => {
  const messages: object[] = [{ role: "user", content: prompt }];
  const done = { deeds: [] as string[], looked: [] as string[], said: "" };
  for (let turn = 0; turn < 6; turn++) {
    const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
    const body = JSON.stringify({ model: "m", messages, tools: shown });
    const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
    const { message } = JSON.parse(await response.text()).choices[0];
    messages.push(message);
    done.said = message.content;
    for (const { id, function: called } of message.tool_calls ?? []) {
      const { order } = JSON.parse(called.arguments);
      (called.name === "refund" ? done.deeds : done.looked).push(order);
      messages.push({ role: "tool", tool_call_id: id, content: "ok" });
    }
    if (!message.tool_calls) return done;
  }
  return done;
};
type Done = Awaited<ReturnType<typeof shop>>;
const orders = Array.from({ length: 12 }, (_, i) => ({
  ...{ prompt: `Where is order B${i + 10}?`, order: `B${i + 10}`, deed: i % 4 === 3 ? "" : `B${i + 10}` },
}));
type Order = (typeof orders)[number];
const done = (answer: unknown) => answer as Done;
const right = ({ task, answer }: AgentEnd<Order>) =>
  done(answer).looked.includes(task.order) && done(answer).deeds.join() === task.deed;

test("a reward that pays a task of waiting for any look-up has a hole, which is named with a task", async () => {
  const { policies, findings, solvedBy, tools } = await checkAgent({
    agent: shop,
    tasks: orders,
    reward: (end) => Number(right(end)),
  });
  expect(tools).toEqual(["look_up", "refund"]);
  const of = (name: string) => policies.find(({ policy }) => policy.startsWith(name))?.success;
  expect([of("says nothing"), of("calls look_up"), of("calls refund"), of("calls every")]).toEqual([0, 0.25, 0, 0.75]);
  expect(solvedBy).toEqual({ none: 0, some: 12, all: 0 });
  expect(findings.find((finding) => finding.includes("calls look_up"))).toMatch(
    /solves 3 of 12 tasks, such as "Where is order B13\?"\. If that call is all they ask for/,
  );
});

test("tools whose parameters reach the model as empty schemas are named", async () => {
  const bare = [
    { ...shown[0], function: { name: "look_up", parameters: { $schema: "https://json-schema.org/draft-07/schema" } } },
  ];
  const agent = async (prompt: string, { baseUrl, apiKey }: AgentRun) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
    const messages = [{ role: "user", content: prompt }];
    await (
      await fetch(`${baseUrl}/chat/completions`, {
        method: "POST",
        headers,
        body: JSON.stringify({ model: "m", messages, tools: bare }),
      })
    ).text();
  };
  const { findings } = await checkAgent({ agent, tasks: orders.slice(0, 1), reward: () => 0 });
  expect(findings[0]).toMatch(/^No tool of look_up shows the model a parameter/);
});

test("a reward that also asks for the words is not paid by a policy that cannot know them", async () => {
  const reward = (end: AgentEnd<Order>) => Number(right(end) && done(end.answer).said.includes(`we looked at ${end.task.order}`));
  const { findings, solvedBy, errors } = await checkAgent({ agent: shop, tasks: orders, reward });
  expect(findings).toEqual([]);
  expect(solvedBy).toEqual({ none: 12, some: 0, all: 0 });
  expect(errors).toEqual({});
  // A task that no policy had the time for is none that all of them fail.
  const hasty = await checkAgent({ agent: shop, tasks: orders, reward, policyMs: -1 });
  expect(hasty.solvedBy).toEqual({ none: 0, some: 0, all: 0 });
});

const asks = async (prompt: string, { baseUrl, apiKey }: AgentRun) => {
  const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
  const schema = { type: "object", properties: { label: { type: "string", enum: ["open", "shut"] } }, required: ["label"] };
  const response_format = { type: "json_schema", json_schema: { name: "a", schema } };
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }], response_format });
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
  return JSON.parse(JSON.parse(await response.text()).choices[0].message.content).label as string;
};

test("constant answers in the form that is asked for, answers in prompts, equal prompts, and a reward that raises errors", async () => {
  const tasks = [
    ...Array.from({ length: 6 }, (_, i) => ({ prompt: `Is door ${i} shut?`, label: i < 4 ? "shut" : "open" })),
    { prompt: "Is it?", label: "open" },
    { prompt: "Is it?", label: "shut" },
  ];
  const reward = ({ task, answer }: AgentEnd<(typeof tasks)[number]>) => {
    if (answer === undefined) throw new Error("no label");
    return Number(answer === task.label);
  };
  const report = await checkAgent({ agent: asks, tasks, reward });
  expect(report.policies.find(({ policy }) => policy === 'says "shut"')).toMatchObject({ success: 5 / 8, tasks: 8 });
  const floors = report.findings.filter((finding) => finding.includes("the floor"));
  expect(floors).toEqual([expect.stringContaining('says "shut" solves 5 of 8')]);
  expect(report.leaks).toEqual([{ field: "label", tasks: 4, example: "Is door 0 shut?" }]);
  expect(report.equalPrompts).toEqual([{ prompt: "Is it?", tasks: 2 }]);
  const raising = () => {
    throw new Error("no label");
  };
  const { findings, policies } = await checkAgent({ agent: async () => "deaf", tasks: tasks.slice(0, 1), reward: raising });
  expect(policies).toHaveLength(1); // each further one may wait for another server
  const broken = async () => Promise.reject(new Error("DATABASE_URL is not set"));
  const failed = await checkAgent({ agent: broken, tasks, reward });
  expect(failed.findings[0]).toContain("The agent failed before: DATABASE_URL is not set. Nothing else was checked.");
  await expect(checkAgent({ agent: broken, tasks: [], reward })).rejects.toThrow(/^tasks is "none"; expected at least one/);
  expect(findings.join("\n")).toMatch(/asked no model at our address[\s\S]*raised an error \d+ times \(no label\)/);
});

test("a policy ends with its time, and an attempt with its own", async () => {
  const slow = () => new Promise((resolve) => setTimeout(() => resolve("late"), 40));
  const report = await checkAgent({ agent: slow, tasks: orders, reward: () => 1, policyMs: 60, concurrency: 1 });
  expect(report.policies.every(({ tasks }) => tasks < 6)).toBe(true);
  const hung = await checkAgent({
    agent: () => new Promise(() => {}),
    tasks: orders.slice(0, 1),
    reward: () => 1,
    timeoutMs: 20,
  });
  expect(hung.policies[0]).toMatchObject({ success: 0, tasks: 1 });
});

test("the command says what is paid and exits with 1; env check leads to it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-check-"));
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const agent = file("agent.mjs", "export default async (prompt) => prompt;");
  const flags = {
    tasks: file("tasks.jsonl", '{"prompt":"Say A.","answer":"A"}\n{"prompt":"Say B.","answer":"B"}\n'),
    reward: file("reward.mjs", "export default ({ task, answer }) => Number(answer.includes(task.answer));"),
  };
  let out = "";
  const screen = createScreen({ write: (part: string) => (out += part) });
  expect(await agentCheckCommand([agent], flags, screen)).toBe(1);
  expect(out).toMatch(/says nothing +100\.0 % +1\.000 +2/);
  expect(out.replaceAll(/\s+/g, " ")).toContain("A policy that says nothing solves 2 of 2 tasks");
  await expect(environmentCheckCommand(agent, {}, screen)).rejects.toThrow(/retrograde-rl check .*agent\.mjs --tasks/);
  await expect(agentCheckCommand([agent], {}, screen)).rejects.toThrow("--tasks");
  rmSync(folder, { recursive: true });
});
