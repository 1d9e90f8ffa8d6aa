import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { engineModel } from "../src/inference/engine-model.ts";
import { serveInference } from "../src/inference/server.ts";
import { scriptedSampler } from "../test/scripted-sampler.ts";

/**
 * What a request to the endpoint costs beyond the engine: npx jiti bench/requests.ts [--requests 2000]
 * The engine is a script that answers at once. Client and server share the process: the processor time of the same conversation without HTTP is taken
 * off, and that of the same bytes to and from a server that does nothing.
 */
const { values } = parseArgs({ options: { requests: { type: "string", default: "2000" } } });
const count = Number(values.requests);
const chat = makeChat(loadTokenizer(fileURLToPath(new URL("../models/office", import.meta.url))));
const pauseMs = 20;
const models = new Map(
  [undefined, pauseMs].map((pause) => [
    pause === undefined ? "quick" : "slow",
    engineModel(
      scriptedSampler(chat.tokenizer, () => "Demo is on Friday at 14:30.", pause),
      chat,
    ),
  ]),
);
const server = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models });
const tool = { name: "find", description: "Finds.", parameters: { type: "object", properties: { title: { type: "string" } } } };
const url = `${server.baseUrl}/v1/chat/completions`;
const body = (more: object) =>
  JSON.stringify({
    messages: [{ role: "user", content: randomUUID() }],
    tools: [{ type: "function", function: tool }],
    ...{ model: "quick", max_tokens: 32, ...more },
  });

/** @returns milliseconds to the first byte that `isFirst` takes, and the whole answer */
function ask(agent: Agent, more: object = {}, to = url): Promise<{ first: number; text: string }> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const headers = { "content-type": "application/json" };
    const sent = request(to, { method: "POST", agent, headers }, (response) => {
      let [text, first] = ["", 0];
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (first === 0 && /"content":"[^"]/.test(text)) first = performance.now() - started;
      });
      response.on("end", () => (response.statusCode === 200 ? resolve({ first, text }) : reject(new Error(text))));
    });
    sent.on("error", reject).end(body(more));
  });
}

/** Milliseconds of processor time a piece of work, with as many at once. */
async function costOf(total: number, atOnce: number, work: () => Promise<unknown>): Promise<number> {
  let left = total;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await work();
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / total;
}

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
const quick = models.get("quick")?.chat;
const options = { sampling: { others: {} }, index: 0, signal: new AbortController().signal };
const { text } = await ask(new Agent());
const bare = createServer((asked, response) =>
  asked.resume().on("end", () => response.setHeader("content-type", "application/json").end(text)),
).listen(0, "127.0.0.1");
await once(bare, "listening");
const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`;
const shown = { ...tool, parameters: { ...tool.parameters, type: "object" as const }, execute: () => "" };
const conversation = { messages: [{ role: "user" as const, content: randomUUID() }], tools: [shown], maxTokens: 32 };
console.log(`${cpus()[0].model}, Node ${process.version}, ${count} requests, medians of 5 rounds`);
for (const atOnce of [1, 16]) {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  await costOf(count, atOnce, () => ask(agent));
  const rounds: number[] = [];
  for (let round = 0; round < 5; round++) {
    const whole = await costOf(count, atOnce, () => ask(agent));
    const engine = await costOf(count, atOnce, async () => quick?.converse(conversation, options));
    const transport = await costOf(count, atOnce, () => ask(agent, {}, bareUrl));
    rounds.push(whole - engine - transport);
  }
  console.log(`${atOnce} at once: ${median(rounds).toFixed(2)} ms of processor time a request`);
  agent.destroy();
}
const agent = new Agent({ keepAlive: true });
const firsts: number[] = [];
for (let i = 0; i < 20; i++) firsts.push((await ask(agent, { model: "slow", stream: true })).first);
console.log(`first token of a stream after ${median(firsts).toFixed(1)} ms; the engine takes ${pauseMs} ms a token`);
const many = new Agent({ keepAlive: true, maxSockets: 1000 });
const answers = await Promise.all(Array.from({ length: 1000 }, () => ask(many, { model: "slow", stream: true })));
console.log(`1,000 streams at once: ${answers.filter(({ text }) => text.includes("[DONE]")).length} answered`);
agent.destroy();
many.destroy();
bare.close();
await server.close();
