import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";

/** A library's desk, and a teacher of a few lines behind a server: it looks a book up, renews it, and says so. */

export const key = "sk-the-teachers-own";
export const call = (name: string, args: object) => ({
  id: "call_1",
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});
export interface Said {
  readonly role: string;
  readonly content?: string;
  readonly tool_calls?: readonly { readonly function: { readonly name: string } }[];
}

export let server: Server;
export let endpoint = { baseUrl: "", name: "teacher", apiKey: key };
export const asked: { messages: Said[]; tools?: unknown; temperature?: number; stream?: boolean }[] = [];
/** Books about which the server refuses to answer. */
export const refused = new Set<string>();

export function answerTo(messages: readonly Said[]): object {
  const last = messages.at(-1);
  const book = /B\d/.exec(messages.find(({ role }) => role === "user")?.content ?? "")?.[0] ?? "";
  if (messages[0]?.content?.includes("one line")) return { content: `In short: ${book}.` };
  if (last?.role === "user")
    return { reasoning_content: `Where is ${book}?`, content: null, tool_calls: [call("find", { book })] };
  const did = messages.findLast(({ role }) => role === "assistant")?.tool_calls?.[0]?.function.name;
  if (did === "find" && book !== "B2") return { content: "", tool_calls: [call("renew", { book })] };
  return { content: did === "renew" ? `${book} is renewed.` : `${book} stays as it is.` };
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      const body = JSON.parse(text);
      asked.push(body);
      response.setHeader("content-type", "application/json");
      if (request.headers.authorization !== `Bearer ${key}`)
        return response.writeHead(401).end('{"error":{"message":"no such key"}}');
      const said: Said[] = body.messages;
      if ([...refused].some((book) => JSON.stringify(said).includes(book)))
        return response.writeHead(422).end('{"error":{"message":"not today"}}');
      const message = { role: "assistant", ...answerTo(said) };
      const usage = { prompt_tokens: 100, completion_tokens: 10 };
      response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }], usage }));
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  endpoint = { ...endpoint, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
});
// Inside of the project, so that the agents find their packages.
export const folder = mkdtempSync(join(import.meta.dirname, "../node_modules/.record-agent-"));
afterEach(() => {
  asked.length = 0;
  refused.clear();
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

export const agentText = `import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
export default async (prompt: string) => {
  const renewed: string[] = [];
  const inputSchema = z.object({ book: z.string() });
  const find = tool({ description: "Finds a book.", inputSchema, execute: async () => ({ page: "https://lib.example/b?token=hush-hush" }) });
  const renew = tool({ description: "Renews a book.", inputSchema, execute: async ({ book }) => (renewed.push(book), "done") });
  const model = "openai/gpt-5-mini";
  const { text } = await generateText({ model, system: "You are the desk.", prompt, temperature: 0.3, tools: { find, renew }, stopWhen: stepCountIs(4) });
  const short = await streamText({ model, system: "Say it in one line.", prompt: text }).text;
  return { renewed, text, short };
};
`;
export const rewardText = `export default ({ task, answer }) => (answer.renewed.includes(task.book) && answer.short.startsWith("In short") ? 1 : 0);\n`;
export const taskLines = (count: number) =>
  Array.from({ length: count }, (_, i) => `${JSON.stringify({ prompt: `Renew B${i + 1}, please.`, book: `B${i + 1}` })}\n`).join(
    "",
  );

export const ask = async (prompt: string) => {
  const body = JSON.stringify({
    model: "m",
    messages: [
      { role: "system", content: "Say it in one line." },
      { role: "user", content: prompt },
    ],
  });
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
  return JSON.parse(await response.text()).choices[0].message.content;
};
export const tasks = { train: [1, 2, 3].map((n) => ({ prompt: `Find B${n}.` })), test: [] };
