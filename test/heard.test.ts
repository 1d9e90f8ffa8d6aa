import "./loopback.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
import type { AgentEnd, AgentRun } from "../extensions/agents/train-agent.ts";
import { engineModel } from "../extensions/inference/engine-model.ts";
import { type RunningInference, serveInference } from "../extensions/inference/server.ts";
import { trajectoryCommand } from "../extensions/inspect/cli/trajectory.ts";
import { compareRuns } from "../extensions/inspect/compare.ts";
import { readIndex } from "../extensions/inspect/read-index.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { readEpisodes, readEvaluations, readRun, readSummary } from "../src/runs/read.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { scriptedSampler } from "./scripted-sampler.ts";

const chat = makeChat(loadTokenizer(new URL("../models/office", import.meta.url).pathname));
const call = '<tool_call>{"name":"find_event","arguments":{"title":"Demo"}}</tool_call>';
let server: RunningInference;
beforeAll(async () => {
  const knows = (say: string) =>
    engineModel(
      scriptedSampler(chat.tokenizer, (seen) => (seen.includes("14:30") ? say : call)),
      chat,
    );
  const models = new Map([
    ["right", knows("At 14:30.")],
    ["wrong", knows("At noon.")],
  ]);
  server = await serveInference({ host: "127.0.0.1", port: 0, keys: ["key"], models });
});
afterAll(() => server.close());

const schema = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };
const found = '{"time":"14:30"}';
type Post = (path: string, body: object) => Promise<string>;

/** Two requests of each vendor's interface: a call, and its result. */
const agents: Readonly<Record<string, (prompt: string, post: Post, model: string, stream: boolean) => Promise<string>>> = {
  "chat completions": async (prompt, post, model, stream) => {
    const messages: object[] = [
      { role: "system", content: "You know." },
      { role: "user", content: prompt },
    ];
    const tools = [{ type: "function", function: { name: "find_event", description: "", parameters: schema } }];
    const more = stream ? { stream, stream_options: { include_usage: true } } : {};
    await post("/chat/completions", { model, messages, tools, ...more });
    const calls = [{ id: "c1", type: "function", function: { name: "find_event", arguments: '{"title":"Demo"}' } }];
    messages.push({ role: "assistant", content: "", tool_calls: calls }, { role: "tool", tool_call_id: "c1", content: found });
    return post("/chat/completions", { model, messages, tools, ...more });
  },
  "chat completions before tools": async (prompt, post, model, stream) => {
    const messages: object[] = [
      { role: "system", content: "You know." },
      { role: "user", content: prompt },
    ];
    const functions = [{ name: "find_event", description: "", parameters: schema }];
    const more = stream ? { stream, stream_options: { include_usage: true } } : {};
    await post("/chat/completions", { model, messages, functions, ...more });
    const function_call = { name: "find_event", arguments: '{"title":"Demo"}' };
    messages.push({ role: "assistant", content: "", function_call }, { role: "function", name: "find_event", content: found });
    return post("/chat/completions", { model, messages, functions, ...more });
  },
  responses: async (prompt, post, model, stream) => {
    const tools = [{ type: "function", name: "find_event", description: "", parameters: schema, strict: false }];
    const first = await post("/responses", { model, instructions: "You know.", input: prompt, tools, stream });
    const id = /"id":"(resp_[^"]+)"/.exec(first)?.[1];
    const call_id = /"call_id":"([^"]+)"/.exec(first)?.[1];
    const input = [{ type: "function_call_output", call_id, output: found }];
    return post("/responses", { model, instructions: "You know.", previous_response_id: id, input, tools, stream });
  },
  anthropic: async (prompt, post, model, stream) => {
    const messages: object[] = [{ role: "user", content: prompt }];
    const asked = {
      model,
      max_tokens: 64,
      system: "You know.",
      tools: [{ name: "find_event", description: "", input_schema: schema }],
      stream,
    };
    await post("/messages", { ...asked, messages });
    const use = { type: "tool_use", id: "t1", name: "find_event", input: { title: "Demo" } };
    messages.push(
      { role: "assistant", content: [use] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: found }] },
    );
    return post("/messages", { ...asked, messages });
  },
  gemini: async (prompt, post, model, stream) => {
    const contents: object[] = [{ role: "user", parts: [{ text: prompt }] }];
    const tools = [{ functionDeclarations: [{ name: "find_event", description: "", parameters: schema }] }];
    const path = `/../v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
    const asked = { systemInstruction: { parts: [{ text: "You know." }] }, tools };
    await post(path, { ...asked, contents });
    const response = { name: "find_event", response: JSON.parse(found) };
    contents.push({ role: "model", parts: [{ functionCall: { name: "find_event", args: { title: "Demo" } } }] });
    contents.push({ role: "user", parts: [{ functionResponse: response }] });
    return post(path, { ...asked, contents });
  },
};

const tasks = [{ prompt: "When is Demo?" }];
const reward = ({ answer }: AgentEnd) => Number(String(answer).includes("At 14:30."));
const endpoint = (name: string) => ({ baseUrl: `${server.baseUrl}/v1`, apiKey: "key", name });
const agentBy =
  (wire: string, stream: boolean) =>
  (prompt: string, { baseUrl, apiKey, name }: AgentRun) => {
    const post: Post = async (path, body) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
      const response = await fetch(`${baseUrl}${path}`.replace("/v1/../", "/"), {
        ...{ method: "POST", headers, body: JSON.stringify(body) },
      });
      return response.text();
    };
    return agents[wire]?.(prompt, post, name, stream);
  };

test.each(Object.keys(agents).flatMap((wire) => [false, true].map((stream) => [wire, stream] as const)))(
  "what an agent says in the interface of %s can be read, streamed: %s",
  async (wire, stream) => {
    const { episodes, tasks: measured } = await evaluateAgent({
      agent: agentBy(wire, stream),
      tasks,
      reward,
      endpoint: endpoint("right"),
    });
    expect(measured[0]?.failures).toEqual([undefined]);
    const shown = episodes[0]?.messages.map((message) =>
      message.role === "assistant" && message.toolCalls
        ? [message.role, message.toolCalls.map(({ name, arguments: args }) => ({ name, args }))]
        : [message.role, message.content.replaceAll(/\s/g, " ").trim()],
    );
    expect(shown).toEqual([
      ["system", "You know."],
      ["user", "When is Demo?"],
      ["assistant", [{ name: "find_event", args: { title: "Demo" } }]],
      ["tool", found],
      ["assistant", "At 14:30."],
    ]);
    expect(episodes[0]?.turns.map(({ toolCalls, invalidToolCalls }) => [toolCalls, invalidToolCalls])).toEqual([
      [1, 0],
      [0, 0],
    ]);
    expect(episodes[0]?.turns[1]?.usage?.completionTokens).toBeGreaterThan(2);
  },
);

test("an evaluation is a run: its episodes are read by the commands for runs, and two of them are paired", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-heard-"));
  const agent = agentBy("chat completions", false);
  const outs = ["right", "wrong"].map((name) => join(folder, name));
  for (const out of outs)
    await evaluateAgent({ agent, tasks, reward, endpoint: endpoint(out.split("/").at(-1) ?? ""), k: 2, out });
  const [right = "", wrong = ""] = outs;
  expect(readRun(right)).toMatchObject({ config: { steps: 0, agent: "a function", model: "right" } });
  expect(readSummary(right)).toMatchObject({ before: null, after: { mean: 1, k: 2, tasks: 1 }, episodes: 2, toolCalls: 2 });
  const [record] = readEvaluations(wrong);
  if (record === undefined) throw new Error("no evaluation");
  const [episode] = readEpisodes(wrong, record);
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part) });
  await trajectoryCommand(wrong, episode?.id ?? "", {}, screen);
  expect(text).toMatch(/find_event\(title: "Demo"\)[\s\S]*At noon\.[\s\S]*reward 0, 2 turns, ended: done/);
  const side = (run: string) => ({ record: readRun(run), index: readIndex(run) });
  expect(compareRuns(side(wrong), side(right))).toMatchObject([{ split: "test", meanA: 0, meanB: 1, paired: { better: 1 } }]);
  await expect(evaluateAgent({ agent, tasks, reward, endpoint: endpoint("right"), out: right })).rejects.toThrow("a run already");
  rmSync(folder, { recursive: true });
});

test("without an endpoint an episode is the task and the answer; one that failed says why", async () => {
  const own = async (prompt: string) => {
    if (prompt === "b") throw new Error("broken");
    return { said: prompt };
  };
  const { episodes } = await evaluateAgent({ agent: own, tasks: [{ prompt: "a" }, { prompt: "b" }], reward: () => 1 });
  expect(episodes.map(({ messages }) => messages.map(({ content }) => content))).toEqual([["a", '{"said":"a"}'], ["b"]]);
  expect(episodes[1]).toMatchObject({ stopReason: "agent-error", error: "broken", reward: 0 });
});
