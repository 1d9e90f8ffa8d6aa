import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { evalAgentCommand } from "../extensions/agents/cli/eval-agent.ts";
import { trainAgentCommand } from "../extensions/agents/cli/train-agent.ts";
import { readTasks, splitTasks } from "../extensions/agents/tasks.ts";
import { functionOf, rewardOf, trainedAgent } from "../extensions/agents/train-agent.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { readSummary } from "../src/runs/read.ts";
import { shownPath } from "../src/terminal/invocation.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { scriptedSampler } from "./scripted-sampler.ts";
import "./loopback.ts";
import { clean, folder, model, tasks, trained } from "./train-agent.fixture.ts";

test("a function with fetch and the customary variables: no line of it knows of the run", async () => {
  const before = { fetch: globalThis.fetch, url: process.env.OPENAI_BASE_URL };
  const agent = async (prompt: string) => {
    await new Promise((go) => setTimeout(go, 5));
    const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
    const body = JSON.stringify({ model: "gpt-5-mini", temperature: 0.3, messages: [{ role: "user", content: prompt }] });
    const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", headers, body });
    const answer = JSON.parse(await response.text());
    return answer.choices[0].message.content;
  };
  const { metrics, trajectories } = await trained({ agent });
  expect(metrics).toMatchObject({ ...clean, turns: 1, "score/agent.overridden": 1 });
  // Six episodes at once, and each turn is where its prompt is.
  for (const { task, messages } of trajectories)
    expect(messages[0].content).toBe(JSON.parse(task.replace(/^[^{]*/, "") || "{}").prompt ?? messages[0].content);
  expect({ fetch: globalThis.fetch, url: process.env.OPENAI_BASE_URL }).toEqual(before);
});

test("a module of the AI SDK that names its model by a string, with a schema: trained as it is", async () => {
  const file = join(folder, "agent.ts");
  writeFileSync(
    file,
    `import { generateText, Output } from "ai";
import { z } from "zod";
export default async (prompt: string) => {
  const schema = z.object({ kind: z.enum(["a", "b"]) });
  const { output } = await generateText({ model: "openai/gpt-5-mini", prompt, maxRetries: 0, output: Output.object({ schema }) });
  return output.kind;
};`,
  );
  const { metrics, answers, trajectories } = await trained({
    agent: file,
    rollout: { tasksPerStep: 2, groupSize: 3, maxTurns: 4, maxTokens: 64, episodeTimeoutMs: 60_000 },
  });
  expect(metrics).toMatchObject({ ...clean, turns: 1 });
  // A model of random weights writes JSON of the schema: the grammar decides nearly all of its tokens.
  expect(answers).toHaveLength(6);
  for (const answer of answers) expect(["a", "b"]).toContain(answer);
  for (const { turns } of trajectories) expect(turns[0].masked?.length).toBeGreaterThan(3);
  expect(Number(metrics.samplerGapMax)).toBeLessThan(0.02);
});

test("a module whose packages have zod 3: that copy stays theirs", async () => {
  const own = join(mkdtempSync(join(folder, "zod3-")), "agent.ts");
  const zod = join(dirname(own), "node_modules/zod");
  mkdirSync(zod, { recursive: true });
  writeFileSync(join(zod, "package.json"), '{ "name": "zod", "version": "3.25.76", "type": "module", "exports": "./index.js" }');
  const { href } = pathToFileURL(
    createRequire(import.meta.url)
      .resolve("zod/v3")
      .replace(/\.cjs$/, ".js"),
  );
  writeFileSync(join(zod, "index.js"), `export * from "${href}";`);
  writeFileSync(
    own,
    'import { ZodEffects, z } from "zod";\nexport default async () => String(z.string().transform(Number) instanceof ZodEffects);',
  );
  const agent = await functionOf(own);
  expect(await agent("", {} as never)).toBe("true");
});

test("an agent object of a package that is not known is refused, with what to write around it", async () => {
  // As @strands-agents/sdk has it: its `invoke` takes a prompt, LangGraph's takes messages.
  const strands = { invoke: async (prompt: string) => prompt, stream: async function* () {} };
  await expect(functionOf(strands)).rejects.toThrow(/agent is "object"; expected a function.*export default async/s);
});

test("an agent that raises an error at its model's answers is trained and named; one that fails before it asks ends the run", async () => {
  const asking = async (prompt: string) => {
    const body = JSON.stringify({ model: "gpt-5-mini", messages: [{ role: "user", content: prompt }] });
    const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
    const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", headers, body });
    return JSON.parse(JSON.parse(await response.text()).choices[0].message.content);
  };
  const { metrics, trajectories } = await trained({ agent: asking });
  expect(metrics).toMatchObject({ "stop/agent-error": 6, maskedEpisodes: 0, reward: 0 });
  expect(trajectories[0].error).toMatch(/JSON/);
  const failing = async () => JSON.parse("no settings");
  await expect(trained({ agent: failing })).rejects.toThrow(/all 6 episodes of step 1.*agent-error/s);
});

test("a run in which every agent is refused ends with the endpoint's own reason", async () => {
  const agent = async (prompt: string) => {
    const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
    const body = JSON.stringify({ model: "gpt-5-mini", audio: {}, messages: [{ role: "user", content: prompt }] });
    await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", headers, body });
    return ""; // it never looked
  };
  await expect(trained({ agent })).rejects.toThrow(
    /all 6 episodes.*the model's endpoint refused a request of the agent: audio is/s,
  );
  const embedding = async (input: string) => {
    const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
    await fetch(`${process.env.OPENAI_BASE_URL}/embeddings`, { method: "POST", headers, body: JSON.stringify({ input }) });
    return "";
  };
  await expect(trained({ agent: embedding })).rejects.toThrow(
    /all 6 episodes.*refused a request of the agent: route is .*POST \/embeddings/s,
  );
});

test("a package that the agent needs and that is not there is named, and everything is put back", async () => {
  const before = { fetch: globalThis.fetch, url: process.env.OPENAI_BASE_URL };
  const file = join(folder, "lacking.ts");
  writeFileSync(file, 'import { x } from "@nobody/has-this/inside";\nexport default async () => x;');
  await expect(trained({ agent: file })).rejects.toThrow(/"@nobody\/has-this" of .*lacking\.ts.*npm install @nobody\/has-this/s);
  expect({ fetch: globalThis.fetch, url: process.env.OPENAI_BASE_URL }).toEqual(before);
});

test("tasks are split by their texts: a fifth is measured, and stays so when the list grows at its end", () => {
  const { train, test: kept } = splitTasks(tasks);
  expect([train.length, kept.length]).toEqual([8, 2]);
  expect(splitTasks([...tasks].reverse()).test).toEqual([...kept].reverse());
  expect(splitTasks(tasks.slice(0, 3))).toEqual({ train: tasks.slice(0, 3), test: tasks.slice(0, 3) });
  expect(() => splitTasks([])).toThrow("at least one task");
  expect(() => splitTasks([tasks[0], tasks[0]])).toThrow("each task once");
});

test("tasks of a file: a line that is none is named", () => {
  mkdirSync(join(tmpdir(), "retrograde-tasks"), { recursive: true });
  const file = join(tmpdir(), "retrograde-tasks/tasks.jsonl");
  writeFileSync(file, '{"prompt":"a","answer":1}\n\n{"prompt":"b"}\n');
  expect(readTasks(file)).toEqual([{ prompt: "a", answer: 1 }, { prompt: "b" }]);
  for (const line of ["{", "[]", '{"question":"a"}']) {
    writeFileSync(file, `{"prompt":"a"}\n${line}\n`);
    expect(() => readTasks(file)).toThrow("tasks.jsonl:2");
  }
  writeFileSync(file, Buffer.from('{"prompt":"Köln"}\n', "latin1"));
  expect(() => readTasks(file)).toThrow(/tasks\.jsonl"; expected a file of JSON lines. line 1 is not UTF-8/);
});

test("eval --agent measures one agent with a model of this machine and one of an endpoint, and pairs them", async () => {
  const file = join(folder, "eval-agent.mjs");
  writeFileSync(
    file,
    `export default async (prompt) => {
  const headers = { authorization: "Bearer " + process.env.OPENAI_API_KEY, "content-type": "application/json" };
  const body = JSON.stringify({ model: "m", max_tokens: 4, messages: [{ role: "user", content: prompt }] });
  const response = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", headers, body });
  return (await response.json()).choices[0].message.content;
};
`,
  );
  writeFileSync(join(folder, "eval-reward.mjs"), "export default ({ answer }) => Number(answer === 'fine');");
  writeFileSync(join(folder, "eval-tasks.jsonl"), tasks.map((task) => JSON.stringify(task)).join("\n"));
  const fixed = createServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: { content: "fine" } }] }));
  });
  await new Promise<void>((go) => fixed.listen(0, "127.0.0.1", go));
  const other = `m@http://127.0.0.1:${(fixed.address() as AddressInfo).port}/v1`;
  const text = { out: "" };
  const flags = { tasks: join(folder, "eval-tasks.jsonl"), reward: join(folder, "eval-reward.mjs"), split: "all", k: "2" };
  const screen = createScreen({ write: (part: string) => (text.out += part) });
  const code = await evalAgentCommand(file, { ...flags, compare: [model, other], out: join(folder, "measured") }, screen, screen);
  fixed.close();
  expect(code).toBe(0);
  expect(text.out).toMatch(/A {2}.*: 10 tasks, sampled as the agent asks, seed 1\n {3}success 0\.0 %/);
  expect(text.out).toMatch(/B {2}.*\n {3}success 100\.0 %/);
  expect(text.out).toMatch(/10 tasks better, 0 worse of 10/);
  expect(text.out).toMatch(
    /An episode that it solves \(after-all-0\/0\/0\)\nuser +.*\nassistant +fine\nreward 1, 1 turn, ended: done/,
  );
  for (const side of ["a", "b"])
    expect(readSummary(join(folder, "measured", side))?.after).toMatchObject({ k: 2, tasks: 10, mean: Number(side === "b") });
  await expect(evalAgentCommand(file, {}, screen, screen)).rejects.toThrow("--tasks");

  const out = join(folder, "commanded");
  const set = ["evaluation.tasks=0", "rollout.maxTokens=8"];
  const short = { model, steps: "1", tasksPerStep: "1", groupSize: "2", algorithm: "grpo", out, set };
  await trainAgentCommand([file], { tasks: flags.tasks, reward: flags.reward, dashboard: false, ...short }, screen);
  const files = `--tasks ${flags.tasks} --reward ${flags.reward}`;
  expect(text.out).toContain(`eval --agent ${file} ${files} --k 4 --compare ${shownPath(model)} `);
  expect(text.out).toContain(` train-agent ${files} --model ${model} --teacher `);
  expect(text.out).toContain(` -- ${file}\n`);
  expect(text.out).not.toContain(" chat --model");
});

test.each([
  ["Dinner needs a room.", "dinner", 1],
  ["Dinner needs a room.", "wrong rate", 0],
])(
  "the front desk of the examples, %s (%s): the reward is of the deed",
  async (prompt, said, reward) => {
    const desk = join(import.meta.dirname, "../examples/front-desk");
    const { events } = JSON.parse(readFileSync(join(desk, "office.json"), "utf8"));
    const { id, status } = events.find(({ title }: { title: string }) => title === "Dinner");
    const right = status === "open" ? "flex" : "fixed";
    const rate = said === "dinner" ? right : right === "flex" ? "fixed" : "flex";
    const call = (name: string, args: object) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
    const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../models/office")));
    const sampler = scriptedSampler(chat.tokenizer, (context) => {
      const answers = context.split("<|tool|>").length - 1;
      return [call("find_event", { title: "Dinner" }), call("book_room", { id, rate }), `Dinner has a ${rate} room.`][answers];
    });
    const task = readTasks(join(desk, "tasks.jsonl")).find((each) => each.prompt === prompt);
    const environment = trainedAgent({
      agent: join(desk, "agent.ts"),
      tasks: { train: task === undefined ? [] : [task], test: [] },
      reward: await rewardOf(join(desk, "reward.ts")),
    });
    await environment.open?.();
    const identity = { id: "0/0", group: "0", seed: 1, maxTurns: 8, maxTokens: 128, episodeTimeoutMs: 30_000 };
    const played = await rollout(sampler, chat, environment, await environment.task("train", 0), identity);
    await environment.close?.();
    expect(played).toMatchObject({ reward, stopReason: "done", scores: { "agent.contexts": 1, "agent.refused": 0 } });
  },
  60_000,
);
