import { join } from "node:path";
import { expect, test } from "vitest";
import { recordAgent } from "../extensions/agents/record-agent.ts";
import type { AgentEnd } from "../extensions/agents/train-agent.ts";
import { readConversations } from "../src/training/supervised/conversations.ts";
import { asked, endpoint, folder } from "./record-agent.fixture.ts";

const program = {
  command: [
    process.execPath,
    "-e",
    `process.stdin.on("data", async (line) => {
       const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } = process.env;
       const headers = { "x-api-key": ANTHROPIC_API_KEY, "content-type": "application/json" };
       const tools = [{ name: "find", description: "Finds a book.", input_schema: { type: "object", properties: { book: { type: "string" } } } }];
       const messages = [{ role: "user", content: JSON.parse(line).prompt }];
       const ask = async () => (await fetch(ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body: JSON.stringify({ model: "claude", max_tokens: 99, tools, messages }) })).json();
       const { content } = await ask();
       const { id } = content.find(({ type }) => type === "tool_use");
       messages.push({ role: "assistant", content }, { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "shelf 7" }] });
       console.log((await ask()).content.map(({ type, text }) => text ?? type).join());
     });`,
  ],
};

test("a program that asks by Anthropic's interface is recorded too, with a teacher that has the other one", async () => {
  const out = join(folder, "program.jsonl");
  const tasks = { train: [{ prompt: "Where is B2?" }], test: [] };
  const reward = ({ answer }: AgentEnd) => Number(answer === "B2 stays as it is.");
  const record = await recordAgent({ agent: program, tasks, reward, teacher: endpoint, out, k: 2, concurrency: 1 });
  expect(record).toMatchObject({ attempts: 2, kept: 2, rows: 2, usage: { requests: 4, promptTokens: 400, unreported: 0 } });
  expect(asked[0]).toMatchObject({ max_tokens: 99 });
  expect(readConversations(out)[0].messages).toMatchObject([
    { role: "user", content: "Where is B2?" },
    { role: "assistant", reasoning: "Where is B2?", toolCalls: [{ name: "find", arguments: { book: "B2" } }] },
    { role: "tool", content: "shelf 7" },
    { role: "assistant", content: "B2 stays as it is." },
  ]);
});
