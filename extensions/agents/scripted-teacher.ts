import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type Completion, readCompletion } from "../../src/completions/answer.ts";
import { complete } from "../../src/completions/client.ts";
import { CompletionError } from "../../src/completions/errors.ts";
import { withinTime } from "../../src/core/deadline.ts";
import { ConfigError, reasonOf } from "../../src/core/errors.ts";
import { withoutSecrets } from "../../src/core/secrets.ts";
import { sha256 } from "../../src/files/code-digests.ts";
import { loadModule } from "../../src/training/config/config-file.ts";
import type { AgentEndpoint } from "./served-agent-model.ts";

/** A message as chat-completions servers get it. */
export interface TeacherMessage {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly {
    readonly id?: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

/** A request of the agent, in the chat-completions protocol. */
export interface TeacherRequest {
  readonly messages: readonly TeacherMessage[];
  readonly tools?: readonly object[];
  readonly [field: string]: unknown;
}

/** An expert that is a script: a request in, the assistant's message out, in the chat-completions protocol. Arguments of calls may be objects. */
export type ScriptedTeacher = (request: TeacherRequest) => unknown;

/** A strong model behind any server of the chat-completions protocol, a scripted expert, or the path of a module whose default export is one. */
export type AgentTeacher = (AgentEndpoint & { readonly name: string }) | ScriptedTeacher | string;

export interface AskedTeacher {
  /** Its name and address, or the digest of its code; without keys. Recordings of two teachers are not mixed. */
  readonly identity: string;
  readonly name: string;
  readonly apiKey: string;
  /** The request's field that limits tokens. */
  readonly limitField: "max_tokens" | "max_completion_tokens";
  /** @throws CompletionError if it gives no answer */
  ask(body: TeacherRequest, signal: AbortSignal): Promise<Completion>;
}

const scriptTimeMs = 60_000;

/** Loads a teacher that is a module. @throws ConfigError if it is not one */
export async function askedTeacher(teacher: AgentTeacher): Promise<AskedTeacher> {
  if (typeof teacher === "object") {
    const { name, baseUrl, apiKey } = teacher;
    return {
      ...{ identity: `${name} at ${withoutSecrets(baseUrl)}`, name, apiKey },
      // OpenAI's newer models take this name alone, and other servers only the older one.
      limitField: new URL(baseUrl).host === "api.openai.com" ? "max_completion_tokens" : "max_tokens",
      ask: (body, signal) => complete(teacher, body, signal),
    };
  }
  const script = typeof teacher === "string" ? await scriptOf(resolve(teacher)) : teacher;
  const name = typeof teacher === "string" ? basename(teacher) : "a scripted teacher";
  const text = typeof teacher === "string" ? readFileSync(resolve(teacher), "utf8") : String(teacher);
  const identity = `${name}, SHA-256 ${sha256(text).slice(0, 16)}`;
  return { identity, name, apiKey: "", limitField: "max_tokens", ask: (body, signal) => asked(script, name, body, signal) };
}

async function scriptOf(file: string): Promise<ScriptedTeacher> {
  const script = await loadModule(file);
  if (typeof script === "function") return script as ScriptedTeacher;
  throw new ConfigError("the teacher", file, {
    expected: "NAME@ADDRESS, or a module whose default export is ({ messages, tools }) => the assistant's message",
  });
}

/** Where in a script an error was raised. */
function placeIn(name: string, error: unknown): string | undefined {
  const words = error instanceof Error ? error.stack?.split(/[\s()]/) : undefined;
  const place = words?.find((word) => word.includes(`${name}:`));
  return place === undefined ? undefined : `It was raised at ${basename(place)}.`;
}

async function asked(script: ScriptedTeacher, name: string, body: TeacherRequest, signal: AbortSignal): Promise<Completion> {
  const failed = (problem: string, cause?: unknown) =>
    new CompletionError(`the answer of ${name}`, problem, "refused", {
      expected: "the assistant's message: { content }, or { tool_calls: [{ function: { name, arguments } }] }",
      cause,
    });
  let said: unknown;
  try {
    said = await withinTime(async () => script(structuredClone(body)), scriptTimeMs, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new CompletionError(`the error of ${name}`, reasonOf(error), "refused", {
      expected: "an answer to every request of the agent",
      hint: placeIn(name, error),
      cause: error,
    });
  }
  const read = readCompletion(JSON.stringify({ choices: [{ message: said, finish_reason: "stop" }] }));
  if ("problem" in read) throw failed(read.problem);
  const { content, calls } = read.completion;
  if (content.trim() === "" && calls.length === 0) throw failed("nothing said and nothing called");
  return { ...read.completion, usage: { promptTokens: 0, completionTokens: 0 } };
}
