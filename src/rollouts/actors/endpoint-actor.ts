import { z } from "zod";
import { messageOf, type ReadAction } from "../../actions/action.ts";
import { callOf } from "../../actions/json.ts";
import { EngineError } from "../../core/errors.ts";
import type { AssistantMessage, Message } from "../../core/messages.ts";
import { seedOf } from "../../core/random.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { Continuation } from "../../environments/protocol.ts";
import { parametersAsJsonSchema, type Tool } from "../../tools/tool.ts";
import type { Live } from "../answers.ts";
import { schemasOf } from "../dialogue.ts";
import type { RolloutOptions } from "../options.ts";
import type { Act, Actor, Speaker } from "./actor.ts";

export interface EndpointSettings {
  /** Up to, and without, `/chat/completions`: such as `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: string;
  /** Of one answer. Default 120,000. */
  readonly timeoutMs?: number;
  /** Further attempts where the server is busy, broken or unreachable. Default 4. */
  readonly retries?: number;
  /** Before the first of them, doubled each time. Default 500. */
  readonly retryDelayMs?: number;
  /** Further fields of the request, such as `reasoning_effort`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/**
 * A model behind any server of the chat-completions protocol: messages in, messages out. It has no tokens, so it can be evaluated and
 * compared with, and never trained.
 */
export function endpointActor(settings: EndpointSettings): Actor {
  return { begin: (live, options) => new EndpointSpeaker(settings, live, options), release: () => {} };
}

class EndpointSpeaker implements Speaker {
  readonly #settings: EndpointSettings;
  readonly #options: RolloutOptions;
  readonly #continuation: Extract<Continuation, { kind: "new-messages" }> | undefined;
  /** The conversation as the server gets it. */
  #shown: object[];

  constructor(settings: EndpointSettings, { episode }: Live, options: RolloutOptions) {
    this.#settings = settings;
    this.#options = options;
    const continuation = episode.protocol?.continuation;
    if (continuation?.kind === "one-message")
      throw new EngineError("the episode's text protocol", continuation.kind, {
        expected: "new messages, or none",
        hint: "A chat endpoint cannot continue a message that it has begun. Evaluate such environments with an engine that samples tokens.",
      });
    this.#continuation = continuation;
    this.#shown = episode.messages.map((message) => described(message));
  }

  async act({ episode: { protocol }, tools }: Live, turns: readonly Turn[], messages: readonly Message[]): Promise<Act> {
    const answer = await this.#ask(turns, protocol === undefined ? tools : [], protocol?.actions.stopStrings);
    const { message, finish, usage } = answer;
    const read =
      protocol === undefined ? readMessage(message) : protocol.actions.read(message.content, messages, schemasOf(tools));
    return {
      read,
      truncated: finish === "length",
      record: {
        ...{ context: [], action: [], samplerLogprobs: [], entropies: [], weightVersion: 0, rewritten: false },
        ...(usage === undefined ? {} : { usage }),
      },
    };
  }

  hear: Speaker["hear"] = ({ read: { message, calls } }, answers) => {
    const ids = (message.toolCalls ?? []).map(({ id }) => id);
    const spoken: AssistantMessage = this.#continuation === undefined ? message : { role: "assistant", content: message.content };
    const shown = this.#continuation === undefined ? answers : this.#continuation.show(answers);
    let unreadable = calls.length - ids.length;
    this.#shown.push(described(spoken));
    for (const answer of shown) {
      // A server refuses an answer to a call that it does not know: what could not be read is told as a message.
      if (answer.role === "tool" && answer.callId === undefined && unreadable-- > 0)
        this.#shown.push({ role: "user", content: answer.content });
      else this.#shown.push(described(answer));
    }
  };

  retract: Speaker["retract"] = () => {
    throw new EngineError("a message that is taken back in part", "a chat endpoint", {
      expected: "an engine that samples tokens",
    });
  };

  /** @throws EngineError if the server refuses, or gives no answer in the end; the signal's reason once it is aborted */
  async #ask(turns: readonly Turn[], tools: readonly Tool[], stop: readonly string[] | undefined): Promise<Answer> {
    const { baseUrl, model, extra, retries = 4, retryDelayMs = 500 } = this.#settings;
    const { maxTokens, temperature, topP, seed, id, draws, signal } = this.#options;
    const body = {
      model,
      messages: this.#shown,
      ...(tools.length === 0 ? {} : { tools: tools.map(describedTool) }),
      max_tokens: maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined || topP === 1 ? {} : { top_p: topP }),
      ...(stop === undefined || stop.length === 0 ? {} : { stop }),
      seed: seedOf(seed, "sample", draws?.id ?? id, turns.length) >>> 1,
      ...extra,
    };
    const url = `${baseUrl.replace(/\/$/, "")}/chat/completions`;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#post(url, body);
      if ("answer" in outcome) return outcome.answer;
      if (!outcome.again || attempt >= retries)
        throw new EngineError(`the answer of ${new URL(url).host}`, this.#withoutKey(outcome.problem), {
          expected: "a chat completion",
          hint: outcome.again ? "The server was asked several times." : "Check the address, the key and the model's name.",
        });
      await wait(retryDelayMs * 2 ** attempt, signal);
    }
  }

  async #post(url: string, body: object): Promise<{ answer: Answer } | { problem: string; again: boolean }> {
    const { apiKey, timeoutMs = 120_000 } = this.#settings;
    const { signal } = this.#options;
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) },
        body: JSON.stringify(body),
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      const text = await response.text();
      if (!response.ok) {
        const again = response.status === 408 || response.status === 429 || response.status >= 500;
        return { problem: `${response.status} ${text.slice(0, 300)}`, again };
      }
      const parsed = answerSchema.safeParse(JSON.parse(text));
      return parsed.success ? { answer: parsed.data } : { problem: `malformed: ${z.prettifyError(parsed.error)}`, again: false };
    } catch (error) {
      signal?.throwIfAborted();
      return { problem: error instanceof Error ? error.message : String(error), again: true };
    }
  }

  #withoutKey(text: string): string {
    const { apiKey } = this.#settings;
    return apiKey === undefined || apiKey === "" ? text : text.replaceAll(apiKey, "***");
  }
}

const completionSchema = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) })).nullish(),
});
const answerSchema = z
  .object({
    choices: z.tuple([z.object({ message: completionSchema, finish_reason: z.string().nullish() })], z.unknown()),
    usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish().catch(undefined),
  })
  .transform(({ choices: [{ message, finish_reason }], usage }) => ({
    message: { ...message, content: message.content ?? "" },
    finish: finish_reason ?? "stop",
    usage: usage ? { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens } : undefined,
  }));
type Answer = z.output<typeof answerSchema>;

function readMessage({ content, reasoning_content, tool_calls }: Answer["message"]): ReadAction {
  const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => {
    const call = callOf(name, text, `arguments of ${name} as a JSON object`);
    return "error" in call ? call : { id, ...call };
  });
  return messageOf(content, calls, reasoning_content ?? undefined);
}

/** A message as the protocol has it. */
function described(message: Message): object {
  if (message.role === "tool") return { role: "tool", tool_call_id: message.callId ?? "", content: message.content };
  if (message.role !== "assistant") return { role: message.role, content: message.content };
  const { role, content, toolCalls = [] } = message;
  const calls = toolCalls.map(({ id, name, arguments: args, argumentsText }) => ({
    id,
    type: "function",
    function: { name, arguments: argumentsText ?? JSON.stringify(args) },
  }));
  return { role, content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

function describedTool(tool: Tool): object {
  const { name, description } = tool;
  return { type: "function", function: { name, description, parameters: parametersAsJsonSchema(tool) } };
}

function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
