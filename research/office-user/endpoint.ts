import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { OfficeTask } from "../../extensions/office/task.ts";
import { complete, type EndpointSettings } from "../../src/completions/client.ts";
import { EnvError } from "../../src/core/errors.ts";
import { jsonOf } from "../../src/core/json.ts";
import { seedOf } from "../../src/core/random.ts";
import { appendLine, readRunFile } from "../../src/runs/files.ts";
import type { EndpointUser } from "./settings.ts";
import type { SimulatedUser } from "./user.ts";

/** The user's last message, once all is done, as in τ-bench. */
const stop = "###STOP###";
/** Letters of a message: a model that does not end would fill the agent's context. */
const longest = 2000;

const entrySchema = z.strictObject({ key: z.string(), seed: z.int(), answer: z.string() });

/**
 * A user that a model plays, behind an endpoint. Each message is asked for with a seed of the episode's and kept by all that decides it, so that
 * a replay, a fork or a resumed run hears what was said, whatever the server would say now.
 * @throws CompletionError from `next` where the server gives no message, EnvError for an empty one: faults, which leave the episode no score
 */
export function endpointUser(config: EndpointUser, apiKey: string | undefined): SimulatedUser {
  const { model, baseUrl, temperature, maxTokens, timeoutMs, retries, answers } = config;
  const settings: EndpointSettings = { baseUrl, timeoutMs, retries, ...(apiKey !== undefined && { apiKey }) };
  const file = join(answers, "user.jsonl");
  let kept: Map<string, string> | undefined;
  const inFlight = new Map<string, Promise<string>>();

  const ask = async (messages: readonly object[], key: string, seed: number): Promise<string> => {
    const { content } = await complete(settings, { model, messages, temperature, max_tokens: maxTokens, seed });
    const text = content
      .slice(content.lastIndexOf("</think>") + 1)
      .replace(/^\/think>/, "")
      .trim()
      .slice(0, longest);
    if (text === "") throw new EnvError(`the user ${model}`, "an empty message", { expected: "what the user says" });
    const answer = apiKey === undefined ? text : text.replaceAll(apiKey, "[API key]");
    mkdirSync(answers, { recursive: true });
    appendLine(file, JSON.stringify({ key, seed, answer }));
    kept?.set(key, answer);
    return answer;
  };

  return {
    async next(task, said, episodeSeed) {
      kept ??= read(file);
      const seed = seedOf(episodeSeed, "user", said.length) % 2 ** 31;
      const messages = [
        { role: "system", content: instructions(task) },
        // Its own messages are the model's, the agent's are those that it answers. The agent speaks first, as in τ-bench.
        { role: "user", content: "Hi! How can I help you today?" },
        ...said.map(({ role, content }) => ({ role: role === "user" ? "assistant" : "user", content })),
      ];
      const key = createHash("sha256")
        .update(JSON.stringify([model, temperature, maxTokens, seed, messages]))
        .digest("hex");
      const known = kept.get(key);
      const asking = inFlight.get(key) ?? (known === undefined ? ask(messages, key, seed) : Promise.resolve(known));
      if (known === undefined) inFlight.set(key, asking);
      const answer = await asking.finally(() => inFlight.delete(key));
      return answer.includes(stop) ? undefined : answer;
    },
  };
}

function read(file: string): Map<string, string> {
  const text = existsSync(file) ? readRunFile(file).toString("utf8") : "";
  // Half a line is what a kill leaves; it must not run into the next one.
  if (text !== "" && !text.endsWith("\n")) appendLine(file, "");
  return new Map(
    text.split("\n").flatMap((line) => {
      const { success, data } = entrySchema.safeParse(jsonOf(line));
      return success ? [[data.key, data.answer] as const] : [];
    }),
  );
}

function instructions({ requests }: OfficeTask): string {
  const wishes = requests.map(
    ({ text, meant }, i) => `${i + 1}. ${text}${meant === undefined ? "" : ` (If asked which person: ${meant})`}`,
  );
  return `You are a user who talks to an office assistant. You have these wishes, in this order:
${wishes.join("\n")}

- Say one thing at a time, in one short message, in words of your own. Keep names, titles, numbers and times as they are.
- Put a wish only when the one before is done, or the assistant says that it cannot be done.
- Answer questions by what is above alone. If it is not there, say that you do not know. Never invent anything, and never do the work yourself.
- When the last wish is dealt with, answer ${stop} and nothing else.`;
}
