import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";
import { evaluateAgent } from "../extensions/agents/evaluate-agent.ts";
import type { AgentEnd } from "../extensions/agents/train-agent.ts";

/** A server that answers as the model's name says, every `n`th request of it. */
export const faults: Readonly<Record<string, (n: number) => { status: number; body: string } | "hang up" | undefined>> = {
  calm: () => undefined,
  busy: (n) => (n % 2 === 0 ? { status: 503, body: '{"error":{"message":"overloaded"}}' } : undefined),
  rare: (n) => (n === 7 ? { status: 503, body: "overloaded" } : undefined),
  limited: () => ({ status: 429, body: '{"error":{"message":"slow down"}}' }),
  gateway: () => ({ status: 200, body: '{"error":{"message":"upstream failed","code":502}}' }),
  gone: () => "hang up",
  strict: () => ({ status: 400, body: '{"error":{"message":"messages[1].content: not a string"}}' }),
};

export let server: Server;
export let baseUrl = "";
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

export const tasks = Array.from({ length: 12 }, (_, i) => ({ prompt: `question ${i + 1}`, n: i + 1 }));
export type Asked = (typeof tasks)[number];
export const reward = ({ task, answer }: AgentEnd<Asked>) => Number(answer === `answer ${task.n}`);
export const ask = async (prompt: string, { name, baseUrl: at, apiKey }: { name: string; baseUrl: string; apiKey: string }) => {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: name, messages: [{ role: "user", content: prompt }] });
  return fetch(`${at}/chat/completions`, { method: "POST", headers, body });
};
export const throwing = async (prompt: string, run: Parameters<typeof ask>[1]) => {
  const response = await ask(prompt, run);
  if (!response.ok) throw new Error(await response.text());
  return JSON.parse(await response.text()).choices[0].message.content;
};
export const swallowing = async (prompt: string, run: Parameters<typeof ask>[1]) =>
  throwing(prompt, run).catch(() => "Sorry, try later.");
export const program = {
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
export const measured = (name: string, agent: Parameters<typeof evaluateAgent<Asked>>[0]["agent"] = throwing, some = tasks) =>
  evaluateAgent({ agent, tasks: some, reward, endpoint: { baseUrl, apiKey: "the-servers-own", name } });
