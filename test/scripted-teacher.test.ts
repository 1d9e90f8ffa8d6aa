import "./loopback.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { recordAgent } from "../extensions/agents/record-agent.ts";
import type { TeacherRequest } from "../extensions/agents/scripted-teacher.ts";
import { readConversations } from "../src/training/supervised/conversations.ts";
import { invoke } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "scripted-teacher-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const tools = [{ type: "function", function: { name: "find", description: "Finds a book.", parameters: { type: "object" } } }];
/** An agent that looks one thing up, as a client of the chat-completions protocol. */
const agent = async (prompt: string) => {
  const messages: object[] = [{ role: "user", content: prompt }];
  for (;;) {
    const body = JSON.stringify({ model: "m", messages, tools });
    const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", body });
    if (!response.ok) throw new Error(await response.text());
    const { message } = JSON.parse(await response.text()).choices[0];
    if (message.tool_calls === undefined) return message.content;
    messages.push(message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: "shelf 7" });
  }
};
const taskOf = (n: number) => ({ prompt: `Where is B${n}?` });
const given = {
  agent,
  tasks: { train: [taskOf(1), taskOf(2)], test: [] },
  reward: ({ answer }: { answer: unknown }) => Number(answer === "shelf 7"),
};

test("a scripted expert teaches: it gets the request as a server gets it, and its messages are the demonstrations", async () => {
  const asked: TeacherRequest[] = [];
  const teacher = (request: TeacherRequest) => {
    asked.push(request);
    const found = request.messages.find(({ role }) => role === "tool");
    const book = request.messages[0]?.content.slice(9, 11);
    return found === undefined
      ? { tool_calls: [{ function: { name: "find", arguments: { book } } }] }
      : { content: found.content };
  };
  const out = join(folder, "script.jsonl");
  const record = await recordAgent({ ...given, teacher, out, concurrency: 1 });
  expect(record).toMatchObject({ kept: 2, rows: 2, usage: { requests: 4, promptTokens: 0, unreported: 0 } });
  expect(asked[1]).toMatchObject({
    model: "a scripted teacher",
    messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }],
    tools,
  });
  expect(readConversations(out)[0].messages).toMatchObject([
    { role: "user", content: "Where is B1?" },
    { role: "assistant", toolCalls: [{ name: "find", arguments: { book: "B1" } }] },
    { role: "tool", content: "shelf 7" },
    { role: "assistant", content: "shelf 7" },
  ]);
  await expect(recordAgent({ ...given, teacher: () => ({ content: "shelf 7" }), out })).rejects.toThrow(
    /the teacher is "a scripted/,
  );
});

test.each([
  ["throws", () => Promise.reject(new Error("no idea")), "no idea"],
  ["gives no message", () => undefined, "no chat completion"],
  ["says and calls nothing", () => ({ content: " " }), "nothing said and nothing called"],
])("an expert that %s is an error of the teacher and no score", async (name, teacher, message) => {
  const out = join(folder, `${name}.jsonl`);
  await expect(recordAgent({ ...given, teacher, out })).rejects.toThrow(message);
});

const rewardText = "export default ({ answer }) => Number(answer === 'shelf 7');\n";
const agentText = `const tools = ${JSON.stringify(tools)};\nexport default ${String(agent)};\n`;

test("record takes a module as its teacher, by --teacher as in train-agent; what is none, and OpenAI's server without a key, are refused", async () => {
  const tasks = file("tasks.jsonl", [1, 2, 3].map((n) => `${JSON.stringify(taskOf(n))}\n`).join(""));
  const files = [file("agent.mjs", agentText), "--tasks", tasks, "--reward", file("reward.mjs", rewardText)];
  const record = (who: string, ...more: string[]) =>
    invoke("record", ...files, "--teacher", who, "--out", join(folder, "module.jsonl"), ...more);
  const expert = file("expert.mjs", "export default () => ({ content: 'shelf 7' });\n");
  const recorded = await record(expert);
  expect(recorded).toMatchObject({ exitCode: 0, error: "" });
  expect(recorded.out).toContain("kept 3 of 3 attempts (100.0 %)");
  expect(recorded.out).toContain("3 requests, no tokens: it is a script");
  expect((await record(join(folder, "none.ts"))).error).toContain("expected a module that exists");
  expect((await record(file("no-expert.mjs", "export default 3;\n"))).error).toMatch(/the teacher is .*no-expert.mjs/);
  expect((await record("gpt-5-mini")).error).toMatch(/--teacher is "gpt-5-mini"; expected NAME@ADDRESS/);
  const student = await record(expert, "--model", "smollm2");
  expect(student.error).toContain("'--model <who>' cannot be used with option '--teacher <who>'");
  const key = process.env.OPENAI_API_KEY;
  delete process.env.OPENAI_API_KEY;
  expect((await record("gpt-5-mini@https://api.openai.com/v1")).error).toContain("OPENAI_API_KEY");
  if (key !== undefined) process.env.OPENAI_API_KEY = key;
});

test("the error of an expert says where in its file it was raised", async () => {
  const tasks = file("where.jsonl", `${JSON.stringify(taskOf(1))}\n`);
  const files = [file("agent.mjs", agentText), "--tasks", tasks, "--reward", file("reward.mjs", rewardText)];
  const expert = file("broken-expert.mjs", "export default ({ messages }) =>\n  JSON.parse(messages[0].role).missing.field;\n");
  const { error } = await invoke("record", ...files, "--teacher", expert, "--out", join(folder, "where.demos.jsonl"));
  expect(error).toMatch(/the error of broken-expert\.mjs is .*It was raised at broken-expert\.mjs:2/);
});
