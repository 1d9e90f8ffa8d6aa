import "../../test/loopback.ts";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import "../../entries/index.ts";
import expert from "../../examples/desk/expert.ts";
import { readTrajectories } from "../../src/runs/read.ts";
import type { EvaluationRecord } from "../../src/runs/records.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { createRun, writeEvaluation } from "../../src/runs/write.ts";
import { invoke } from "../../test/command-line.ts";
import { addRemark } from "../inspect/remarks.ts";
import { taskName } from "./evaluate-agent.ts";
import { keptAnswer } from "./kept-answer.ts";
import { trainAgent } from "./taught-agent.ts";

/** The run of an agent: one evaluation of two tasks. */
function agentRun() {
  const home = mkdtempSync(join(tmpdir(), "retrograde-agent-rescore-"));
  const folder = join(home, "run");
  createRun(folder, { seed: 1, steps: 0, algorithm: { kind: "evaluation" }, environment: { name: "agent", settings: {} } });
  const estimate = { mean: 1, low: 1, high: 1 };
  const record = {
    ...{ ...estimate, when: "after", step: 0, split: "test", tasks: 2, k: 1, temperature: 1, passAt: [], reward: estimate },
    ...{ meanTurns: 1, toolCalls: 0, stopReasons: {}, byKind: [], byRequests: [], byTurns: [] },
  };
  const tasks = [
    { prompt: "2 + 2?", sum: 4 },
    { prompt: "3 + 3?", sum: 6 },
  ];
  const episode = (index: number, answer: string) =>
    trajectoryOf(`after-test-0/${index}/0`, {
      ...{ group: `test/${index}`, task: taskName(tasks[index] ?? { prompt: "" }, "test"), reward: 1 },
      messages: [
        { role: "user", content: "?" },
        { role: "assistant", content: answer },
      ],
    });
  writeEvaluation(folder, record as unknown as EvaluationRecord, [episode(0, "4"), episode(1, "5")]);
  writeFileSync(join(home, "tasks.jsonl"), tasks.map((task) => `${JSON.stringify(task)}\n`).join(""));
  const reward = join(home, "reward.mjs");
  writeFileSync(reward, "export default ({ task, answer }) => Number(answer === String(task.sum));");
  return { folder, reward, tasks: join(home, "tasks.jsonl") };
}

test("a run of train-agent takes its tasks and a reward as train-agent does", async () => {
  const { folder, reward, tasks } = agentRun();
  const { exitCode, out } = await invoke("rescore", folder, "--reward", reward, "--split", "test", "--tasks", tasks, "--json");
  expect(exitCode).toBe(0);
  const { episodes, noLongerPass } = JSON.parse(out) as { episodes: { id: string; after: number }[]; noLongerPass: number };
  expect(episodes.map(({ id, after }) => [id, after])).toEqual([
    ["after-test-0/1/0", 0],
    ["after-test-0/0/0", 1],
  ]);
  expect(noLongerPass).toBe(1);
});

test("without its tasks, and with a file that is no reward, the error says what to do", async () => {
  const { folder, reward, tasks } = agentRun();
  const bare = await invoke("rescore", folder, "--reward", reward, "--split", "test");
  expect([bare.exitCode, bare.error]).toEqual([
    2,
    expect.stringContaining('--tasks is "missing"; expected the file of tasks that the agent had'),
  ]);
  const untrained = await invoke("rescore", folder, "--reward", reward, "--tasks", tasks);
  expect([untrained.exitCode, untrained.error]).toEqual([2, expect.stringContaining("--split test: it has evaluations alone")]);
  writeFileSync(`${reward}.mjs`, "export default 7;");
  const wrong = await invoke("rescore", folder, "--reward", `${reward}.mjs`, "--split", "test", "--tasks", tasks);
  expect([wrong.exitCode, wrong.error]).toEqual([2, expect.stringContaining("expected a file whose default export is a reward")]);
});

test("--marks asks for no reward and no tasks; both or neither of them are refused", async () => {
  const { folder, reward } = agentRun();
  addRemark(folder, { kind: "mark", trajectory: "after-test-0/1/0", reward: 0 });
  const { exitCode, out } = await invoke("rescore", folder, "--marks", "--split", "test");
  expect([exitCode, out]).toEqual([0, expect.stringContaining("verdicts that flip: 0 now pass, 1 no longer do")]);
  for (const flags of [[], ["--marks", "--reward", reward]])
    expect(await invoke("rescore", folder, ...flags)).toMatchObject({
      exitCode: 2,
      error: expect.stringContaining("one of them"),
    });
});

const desk = new URL("../../examples/desk/", import.meta.url).pathname;

/** The desk's expert behind an endpoint, who takes every third customer's order for lost. */
async function deskEndpoint(): Promise<string> {
  let customers = 0;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      const body = JSON.parse(text) as Parameters<typeof expert>[0];
      const said = expert(body);
      const { name = "", arguments: args } = "tool_calls" in said ? (said.tool_calls[0]?.function ?? {}) : {};
      if (name === "lookup") customers++;
      const called = { name: name !== "lookup" && customers % 3 === 0 ? "resend" : name, arguments: JSON.stringify(args) };
      const message = name === "" ? said : { tool_calls: [{ id: "1", type: "function", function: called }] };
      const choice = { index: 0, message: { role: "assistant", content: "", ...message }, finish_reason: "stop" };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "m", choices: [choice] }));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** The reward of each episode, by its id, under the reward that was recorded and another. */
async function rescored(folder: string, reward: string, ...flags: readonly string[]) {
  const { exitCode, error, out } = await invoke("rescore", folder, "--reward", reward, ...flags, "--json");
  expect({ exitCode, error }).toEqual({ exitCode: 0, error: "" });
  const { episodes } = JSON.parse(out) as { episodes: { id: string; before: number; after: number }[] };
  return episodes;
}

test("the desk's own reward reads what the agent returned, and gives the recorded scores to the digit", async () => {
  const home = mkdtempSync(join(tmpdir(), "retrograde-desk-rescore-"));
  const [tasks, folder] = [join(home, "tasks.jsonl"), join(home, "run")];
  writeFileSync(tasks, readFileSync(`${desk}tasks.jsonl`, "utf8").split("\n").slice(0, 24).join("\n"));
  const files = ["--agent", `${desk}agent.ts`, "--tasks", tasks, "--reward", `${desk}reward.ts`];
  const model = ["--model", "m", "--endpoint", await deskEndpoint()];
  await invoke("eval", ...files, ...model, "--k", "3", "--out", folder);
  const episodes = await rescored(folder, `${desk}reward.ts`, "--split", "test", "--tasks", tasks);
  expect(episodes).toHaveLength(15);
  expect(new Set(episodes.map(({ before }) => before))).toEqual(new Set([0, 1]));
  expect(episodes.map(({ after }) => after)).toEqual(episodes.map(({ before }) => before));
});

test("what a trained agent returned is recorded as its reward got it, without keys; an unkept answer is no score", async () => {
  const home = mkdtempSync(join(tmpdir(), "retrograde-answers-"));
  const folder = join(home, "run");
  await trainAgent({
    agent: async (prompt, { baseUrl, apiKey, name }) => {
      const body = JSON.stringify({ model: name, messages: [{ role: "user", content: prompt }] });
      await fetch(`${baseUrl}/chat/completions`, { method: "POST", body, headers: { authorization: `Bearer ${apiKey}` } });
      return { share: prompt.length / 7, apiKey, ...(prompt === "aa" && { at: new Date(0) }) };
    },
    tasks: { train: [{ prompt: "a" }, { prompt: "aa" }], test: [] },
    reward: ({ answer }) => {
      const { share } = answer as { share: number };
      (answer as { share: number }).share = -1;
      return share;
    },
    ...{ model: "bundled:office", algorithm: "grpo", steps: 1, out: folder, engine: { threads: 1 } },
    rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 2 },
    evaluation: { tasks: 0 },
  });
  const recorded = readTrajectories(folder, 1);
  expect(recorded.map(({ answer, reward }) => [answer, reward]).toSorted()).toEqual(
    [
      [{ value: { share: 1 / 7, apiKey: "[key]" } }, 1 / 7],
      [{ value: { share: 1 / 7, apiKey: "[key]" } }, 1 / 7],
      [{ left: "it has an object of the class Date" }, 2 / 7],
      [{ left: "it has an object of the class Date" }, 2 / 7],
    ].toSorted(),
  );
  const tasks = join(home, "tasks.jsonl");
  writeFileSync(tasks, '{"prompt": "a"}\n{"prompt": "bb"}\n');
  const share = join(home, "share.mjs");
  writeFileSync(share, "export default ({ answer }) => answer.share;");
  const refused = await invoke("rescore", folder, "--reward", share, "--no-tasks");
  expect(refused.exitCode).toBe(1);
  const others = await invoke("rescore", folder, "--reward", share, "--tasks", tasks);
  expect(others.error).toContain("expected the file that the run had: the train tasks are others now");
  expect(refused.error).toContain("is not kept");
  expect(refused.error).toContain("it has an object of the class Date");
});

test("an answer is kept as plain JSON of a bounded size, or its reason is", () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  const left = (value: unknown) => Object.values(keptAnswer(value, []))[0];
  const plain = { text: "https://me:secret@host/", list: [null, 1, { of: undefined }] };
  expect(keptAnswer(plain, [])).toEqual({ value: { ...plain, text: expect.not.stringContaining("secret") } });
  expect(keptAnswer(undefined, [])).toEqual({ value: undefined });
  expect(
    [
      new Map(),
      1n,
      Number.NaN,
      [undefined],
      loop,
      "x".repeat(70_000),
      {
        get a() {
          throw new Error("no");
        },
      },
    ].map(left),
  ).toEqual([
    "it has an object of the class Map",
    "it has a bigint",
    "it has the number NaN",
    "a list in it has a gap",
    "it is nested deeper than 64",
    "it is longer than 65536 letters of JSON",
    "reading it raised: no",
  ]);
});
