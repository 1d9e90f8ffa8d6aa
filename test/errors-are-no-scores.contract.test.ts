import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentMatchers } from "../entries/vitest.ts";
import { isServiceError } from "../extensions/agents/blame.ts";
import { evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
import { compareAgents } from "../extensions/agents/measure.ts";
import { type AgentEnd, trainedAgent } from "../extensions/agents/train-agent.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { rollout } from "../src/rollouts/rollout.ts";
import { scriptedSampler } from "./scripted-sampler.ts";

/** A server that answers as the model's name says, every `n`th request of it. */
const faults: Readonly<Record<string, (n: number) => { status: number; body: string } | "hang up" | undefined>> = {
  calm: () => undefined,
  busy: (n) => (n % 2 === 0 ? { status: 503, body: '{"error":{"message":"overloaded"}}' } : undefined),
  rare: (n) => (n === 7 ? { status: 503, body: "overloaded" } : undefined),
  limited: () => ({ status: 429, body: '{"error":{"message":"slow down"}}' }),
  gateway: () => ({ status: 200, body: '{"error":{"message":"upstream failed","code":502}}' }),
  gone: () => "hang up",
  strict: () => ({ status: 400, body: '{"error":{"message":"messages[1].content: not a string"}}' }),
};

let server: Server;
let baseUrl = "";
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const { model, messages } = JSON.parse(body);
      const n = Number(/\d+/.exec(messages[0].content)?.[0]);
      const fault = faults[model]?.(n);
      if (request.headers.authorization !== "Bearer the-servers-own") return response.writeHead(401).end();
      if (fault === "hang up") {
        response.writeHead(200, { "content-length": "1000" }).write("{");
        setTimeout(() => response.destroy(), 5);
        return;
      }
      response.setHeader("content-type", "application/json");
      if (fault !== undefined) return response.writeHead(fault.status).end(fault.body);
      response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content: `answer ${n}` } }] }));
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => server.close());

const tasks = Array.from({ length: 12 }, (_, i) => ({ prompt: `question ${i + 1}`, n: i + 1 }));
type Asked = (typeof tasks)[number];
const reward = ({ task, answer }: AgentEnd<Asked>) => Number(answer === `answer ${task.n}`);
const ask = async (prompt: string, { name, baseUrl: at, apiKey }: { name: string; baseUrl: string; apiKey: string }) => {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: name, messages: [{ role: "user", content: prompt }] });
  return fetch(`${at}/chat/completions`, { method: "POST", headers, body });
};
const throwing = async (prompt: string, run: Parameters<typeof ask>[1]) => {
  const response = await ask(prompt, run);
  if (!response.ok) throw new Error(await response.text());
  return JSON.parse(await response.text()).choices[0].message.content;
};
const swallowing = async (prompt: string, run: Parameters<typeof ask>[1]) =>
  throwing(prompt, run).catch(() => "Sorry, try later.");
const program = {
  command: [
    process.execPath,
    "-e",
    `const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL: model } = process.env;
     process.stdin.on("data", async (line) => {
       const messages = [{ role: "user", content: JSON.parse(line).prompt }];
       const headers = { authorization: "Bearer " + OPENAI_API_KEY };
       const response = await fetch(OPENAI_BASE_URL + "/chat/completions", { method: "POST", headers, body: JSON.stringify({ model, messages }) });
       if (!response.ok) process.exit(1);
       console.log((await response.json()).choices[0].message.content);
     });`,
  ],
};
const measured = (name: string, agent: Parameters<typeof evaluateAgent<Asked>>[0]["agent"] = throwing, some = tasks) =>
  evaluateAgent({ agent, tasks: some, reward, endpoint: { baseUrl, apiKey: "the-servers-own", name } });

test.each([
  ["an agent that throws", throwing],
  ["an agent that answers all the same", swallowing],
])("%s: half of the attempts meet a server that is overloaded, and have no score", async (_, agent) => {
  const [calm, busy] = [await measured("calm", agent), await measured("busy", agent)];
  expect(calm).toMatchObject({ attempts: 12, errors: 0, success: { mean: 1 } });
  expect(busy).toMatchObject({ attempts: 12, errors: 6, success: { mean: 1 } });
  expect(busy.tasks[1]?.errors[0]).toMatch(/answered 503 .*overloaded/);
  expect(busy.tasks[1]?.rewards[0]).toBeUndefined();
  expect(() => compareAgents(calm, busy)).toThrow(/no verdict: 6 of 12 attempts of the second ended by an error/);
});

test("a program's requests are seen too", async () => {
  const busy = await measured("busy", program, tasks.slice(0, 2));
  expect(busy).toMatchObject({ attempts: 2, errors: 1, success: { mean: 1 } });
});

test("few errors are no pairs: two equal models do not differ", async () => {
  const [calm, rare] = [await measured("calm"), await measured("rare")];
  expect(rare).toMatchObject({ attempts: 12, errors: 1, success: { mean: 1 } });
  expect(compareAgents(calm, rare)).toMatchObject({ tasks: 11, better: 0, worse: 0, difference: { mean: 0 } });
});

test.each(["limited", "gateway", "gone"])("%s: nothing was measured, which is no 0", async (name) => {
  await expect(measured(name, swallowing, tasks.slice(0, 3))).rejects.toThrow(/the end of all 3 attempts.*Nothing was measured/s);
});

test("no server at all, and a reward that throws: nothing was measured", async () => {
  const endpoint = { baseUrl: "http://127.0.0.1:9/v1", apiKey: "none", name: "m" };
  await expect(evaluateAgent({ agent: swallowing, tasks, reward, endpoint })).rejects.toThrow(/ECONNREFUSED/);
  const noReward = () => Promise.reject(new Error("the judge is gone"));
  await expect(evaluateAgent({ agent: async () => "a", tasks, reward: noReward })).rejects.toThrow(/reward: the judge is gone/);
});

test("what a server refuses of an agent's own request is the agent's failure, and so is an error in its code", async () => {
  const strict = await measured("strict");
  expect(strict).toMatchObject({ errors: 0, success: { mean: 0 } });
  expect(strict.tasks[0]?.failures[0]).toContain("not a string");
  const buggy = await measured("calm", async (prompt, run) => JSON.parse((await throwing(prompt, run)) as string));
  expect(buggy).toMatchObject({ errors: 0, success: { mean: 0 } });
});

test("without an endpoint the shape of an error says whose it is", async () => {
  const of = (fields: object, cause?: unknown) => Object.assign(new Error("x", { cause }), fields);
  const theirs = [
    of({ status: 500 }), // openai, anthropic
    of({ statusCode: 529 }), // AI SDK
    of({ name: "APIConnectionError" }),
    of({ code: "UND_ERR_HEADERS_TIMEOUT" }),
    of({}, of({ code: "ECONNRESET" })),
    of({ lastError: of({ statusCode: 429 }) }), // AI_RetryError
    of({ errors: [of({ code: "ENOTFOUND" })] }),
    of({ code: "ENOENT", syscall: "spawn python" }),
  ];
  for (const error of theirs) expect(isServiceError(error), JSON.stringify(error)).toBe(true);
  for (const error of [
    of({ status: 400 }),
    of({ code: "ENOENT", syscall: "open" }),
    new TypeError("x is undefined"),
    "text",
    null,
  ])
    expect(isServiceError(error)).toBe(false);
});

test("the matcher has no verdict on errors, negated or not", async () => {
  const options = { reward, atLeast: 0.9, endpoint: { baseUrl, apiKey: "the-servers-own", name: "busy" } };
  expect.extend(agentMatchers);
  const refused = /no verdict: 6 of 12 attempts of the agent ended by an error/;
  await expect(expect(throwing).toSucceed(tasks, options)).rejects.toThrow(refused);
  await expect(expect(throwing).not.toSucceed(tasks, options)).rejects.toThrow(refused);
});

test("a matcher that is not awaited fails its test, negated too", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-unawaited-"));
  const entry = new URL("../entries/vitest.ts", import.meta.url).pathname;
  writeFileSync(
    join(folder, "page.test.ts"),
    `import { agentMatchers } from ${JSON.stringify(entry)};
expect.extend(agentMatchers);
const tasks = [{ prompt: "1" }];
const late = (answer) => async () => { await new Promise((go) => setTimeout(go, 50)); return answer; };
const reward = ({ answer }) => Number(answer === "right");
const broken = () => { throw new Error("no judge"); };
test("wrong", () => { expect(late("wrong")).toSucceed(tasks, { reward, atLeast: 1 }); });
test("right, negated", () => { expect(late("right")).not.toSucceed(tasks, { reward, atLeast: 1 }); });
test("an error, negated", () => { expect(late("right")).not.toSucceed(tasks, { reward: broken, atLeast: 1 }); });
test("right", () => { expect(late("right")).toSucceed(tasks, { reward, atLeast: 1 }); });
test("awaited", async () => { await expect(expect(late("wrong")).toSucceed(tasks, { reward, atLeast: 1 })).rejects.toThrow("0.0 %"); });
`,
  );
  writeFileSync(join(folder, "vitest.config.mjs"), "export default {};");
  const vitest = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
  const run = promisify(execFile)(process.execPath, [vitest, "run", "--globals", "--root", folder], { cwd: folder });
  const { code, stdout } = await run.then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  );
  rmSync(folder, { recursive: true });
  expect(stdout).toMatch(/3 failed.*2 passed/);
  expect(stdout).not.toContain("Unhandled");
  expect(code).toBe(1);
});

test("in a run's episodes an agent's own error is another end than a server's and the reward's", async () => {
  const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../models/office")));
  const sampler = scriptedSampler(chat.tokenizer, () => "no JSON");
  const ends = async (agent: (text: string) => unknown, score: () => number) => {
    const call = async (prompt: string, run: { baseUrl: string; apiKey: string }) =>
      agent((await throwing(prompt, { ...run, name: "m" })) as string);
    const environment = trainedAgent({ agent: call, tasks: { train: [{ prompt: "Hello?" }], test: [] }, reward: score });
    await environment.open?.();
    const identity = { id: "0/0", group: "0", seed: 1, maxTurns: 4, maxTokens: 64, episodeTimeoutMs: 30_000 };
    const {
      stopReason,
      reward: given,
      error,
    } = await rollout(sampler, chat, environment, await environment.task("train", 0), identity);
    await environment.close?.();
    return { stopReason, given, error };
  };
  const busy = () => {
    throw Object.assign(new Error("overloaded"), { status: 503 });
  };
  expect(
    await ends(
      (text) => JSON.parse(text),
      () => 1,
    ),
  ).toMatchObject({ stopReason: "agent-error", given: 0, error: expect.stringMatching(/JSON/) });
  expect(await ends(busy, () => 1)).toMatchObject({
    stopReason: "environment-error",
    error: expect.stringMatching(/overloaded/),
  });
  expect(await ends((text) => text, busy)).toMatchObject({ stopReason: "environment-error" });
  expect(
    await ends(
      (text) => text,
      () => 0.9999999999999999,
    ),
  ).toMatchObject({ stopReason: "done" });
});
