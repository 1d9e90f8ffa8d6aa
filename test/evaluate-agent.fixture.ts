import { afterAll, beforeAll } from "vitest";
import type { AgentMatchers } from "../entries/vitest.ts";
import type { AgentEnd } from "../extensions/agents/train-agent.ts";
import { engineModel } from "../extensions/inference/engine-model.ts";
import { type RunningInference, serveInference } from "../extensions/inference/server.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { scriptedSampler } from "./scripted-sampler.ts";

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: a merged interface has the parameters of the original
  interface Matchers<T = any> extends AgentMatchers<T> {}
}

export const tasks = Array.from({ length: 6 }, (_, i) => ({ prompt: `Number ${i}?`, number: i }));
export type Asked = (typeof tasks)[number];
export const reward = ({ task, answer }: AgentEnd<Asked>) => Number(String(answer).includes(String(task.number)));

export const chat = makeChat(loadTokenizer(new URL("../models/office", import.meta.url).pathname));
/** A model that knows numbers below a limit. */
export const model = (limit: number) =>
  engineModel(
    scriptedSampler(chat.tokenizer, (context) => {
      const number = Number(/Number (\d)\?/.exec(context)?.[1]);
      return number < limit ? `It is ${number}.` : "No.";
    }),
    chat,
  );
export let server: RunningInference;
beforeAll(async () => {
  const models = new Map([
    ["weak", model(2)],
    ["strong", model(6)],
  ]);
  server = await serveInference({ host: "127.0.0.1", port: 0, keys: ["key"], models });
});
afterAll(() => server.close());

export const agent = async (prompt: string, { name }: { readonly name: string }) => {
  const headers = { authorization: "Bearer whatever" };
  const body = JSON.stringify({ model: name, messages: [{ role: "user", content: prompt }] });
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", headers, body });
  return JSON.parse(await response.text()).choices[0].message.content;
};
export const with_ = (name: string) => ({ baseUrl: `${server.baseUrl}/v1`, apiKey: "key", name });
