import type { ReadAction } from "../../actions/action.ts";
import type { Completion } from "../../completions/answer.ts";
import { complete, type EndpointSettings } from "../../completions/client.ts";
import { CompletionError } from "../../completions/errors.ts";
import { EpisodeStop } from "../../core/episode-stop.ts";
import type { AssistantMessage, Message } from "../../core/messages.ts";
import { seedOf } from "../../core/random.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { Continuation } from "../../environments/protocol.ts";
import type { Tool } from "../../tools/tool.ts";
import type { OpenEpisode } from "../answers.ts";
import { schemasOf } from "../dialogue.ts";
import type { RolloutOptions } from "../options.ts";
import type { Act, Actor, ActorSession, Opening } from "./actor.ts";
import { type DescribedMessage, described, describedTool, readNative, ToolNames, withStopString } from "./endpoint-messages.ts";

export interface EndpointActorSettings extends EndpointSettings {
  readonly model: string;
  /** The request's limit of tokens. Newer models of OpenAI take "max_completion_tokens" alone. Default "max_tokens". */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
  /**
   * How a text protocol of one growing message continues. "prefill": the message is the last one of the request, and the server continues it
   * (`continue_final_message` of vLLM and SGLang). "messages": results follow as messages of the user, which every server takes. Default "messages".
   */
  readonly growing?: "messages" | "prefill";
}

/**
 * A model behind any server of the chat-completions protocol: messages in, messages out. It has no tokens, so it can be evaluated and
 * compared with, and never trained. A conversation that the server refuses although it takes others ends with the stop reason "actor-error".
 * @example
 * const actor = endpointActor({ baseUrl: "http://127.0.0.1:8000/v1", model: "Qwen/Qwen3-8B" });
 */
export function endpointActor(settings: EndpointActorSettings): Actor {
  const service = new Service(settings);
  return { begin: (live, options) => new EndpointSession(settings, service, live, options), release: () => {} };
}

/** The server, and whether it takes requests of this kind at all. */
class Service {
  readonly #settings: EndpointActorSettings;
  /** By whether the request has tools: servers without tool calls refuse only those. */
  readonly #takes = new Map<boolean, Promise<unknown>>();

  constructor(settings: EndpointActorSettings) {
    this.#settings = settings;
  }

  async ask(body: Readonly<Record<string, unknown>>, signal: AbortSignal | undefined): Promise<Completion> {
    try {
      const completion = await complete(this.#settings, body, signal);
      this.#takes.set("tools" in body, Promise.resolve());
      return completion;
    } catch (error) {
      if (!(error instanceof CompletionError) || !["refused", "withheld"].includes(error.failure)) throw error;
      if (error.failure === "refused") await this.#requireTaken(body, error, signal);
      throw new EpisodeStop("actor-error", error.message);
    }
  }

  /** Asks once with another conversation. @throws CompletionError if that is refused too: the settings are at fault */
  async #requireTaken(
    body: Readonly<Record<string, unknown>>,
    refused: CompletionError,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const hasTools = "tools" in body;
    const known =
      this.#takes.get(hasTools) ??
      complete(this.#settings, { ...body, messages: [{ role: "user", content: "Hello." }] }, signal).catch((error: unknown) => {
        signal?.throwIfAborted();
        throw new CompletionError(refused.subject, refused.value, "settings", {
          expected: "a chat completion",
          hint:
            "The server refuses every such request. evaluation.player.request leaves out or adds fields, such as { seed: null }; evaluation.player.maxTokensField " +
            "names the limit of tokens.",
          cause: error,
        });
      });
    this.#takes.set(hasTools, known);
    await known;
  }
}

class EndpointSession implements ActorSession {
  readonly #settings: EndpointActorSettings;
  readonly #service: Service;
  readonly #options: RolloutOptions;
  readonly #continuation: Continuation | undefined;
  readonly #names = new ToolNames();
  /** The conversation as the server gets it, without the growing message. */
  #shown: DescribedMessage[];
  /** The growing message, where the server continues it. */
  #growing = "";
  /** Tokens of the first request, and of the newest one with its answer. Undefined if the server reports none. */
  #tokens: { readonly first: number; readonly now: number } | undefined;

  constructor(settings: EndpointActorSettings, service: Service, { episode }: Opening, options: RolloutOptions) {
    this.#settings = settings;
    this.#service = service;
    this.#options = options;
    this.#continuation = episode.protocol?.continuation;
    this.#shown = episode.messages.map((message) => described(message, this.#names));
  }

  async act({ episode: { protocol }, tools }: OpenEpisode, turns: readonly Turn[], messages: readonly Message[]) {
    const maxTokens = this.#tokensLeft();
    if (maxTokens < 1) return undefined;
    const stopStrings = protocol?.actions.stopStrings ?? [];
    const body = this.#request(maxTokens, protocol === undefined ? tools : [], stopStrings, turns.length);
    let completion: Completion;
    try {
      completion = this.#continued(await this.#service.ask(body, this.#options.signal));
    } catch (error) {
      if (!(error instanceof CompletionError) || error.failure !== "context") throw error;
      if (turns.length > 0) return undefined;
      throw new EpisodeStop("max-tokens", error.message);
    }
    this.#count(completion);
    const { finish, usage } = completion;
    const read: ReadAction =
      protocol === undefined
        ? readNative(completion, this.#names, turns.length)
        : protocol.actions.read(withStopString(completion, stopStrings), messages, schemasOf(tools));
    return {
      read,
      truncated: finish === "length",
      record: {
        ...{ context: [], action: [], samplerLogprobs: [], entropies: [], weightVersion: 0, rewritten: false },
        ...(usage === undefined ? {} : { usage }),
      },
    } satisfies Act;
  }

  observe: ActorSession["observe"] = ({ read: { message, calls } }, answers) => {
    const continuation = this.#continuation;
    if (continuation?.kind === "one-message") return this.#grow(message, continuation.write(answers));
    const spoken: AssistantMessage = continuation === undefined ? message : { role: "assistant", content: message.content };
    const shown = continuation === undefined ? answers : continuation.show(answers);
    let unreadable = calls.length - (message.toolCalls ?? []).length;
    this.#say(spoken);
    for (const answer of shown) {
      // A server refuses an answer to a call that it does not know: what could not be read becomes a message.
      if (answer.role === "tool" && answer.callId === undefined && unreadable-- > 0)
        this.#say({ role: "user", content: answer.content });
      else this.#say(answer);
    }
  };

  retract: ActorSession["retract"] = ({ read: { message } }) => this.#grow(message, "");

  /** Without the message that was to be continued, which llama.cpp repeats. */
  #continued(completion: Completion): Completion {
    const { content } = completion;
    const repeats = this.#growing !== "" && content.startsWith(this.#growing);
    return repeats ? { ...completion, content: content.slice(this.#growing.length) } : completion;
  }

  /** @param results empty where the model is asked to continue what it wrote */
  #grow({ content }: AssistantMessage, results: string): void {
    if (this.#settings.growing === "prefill") {
      this.#growing += content + results;
      return;
    }
    this.#say({ role: "assistant", content });
    this.#say({ role: "user", content: results.trim() === "" ? "Continue." : results.trim() });
  }

  #say(message: Message): void {
    this.#shown.push(described(message, this.#names));
  }

  /** Tokens that the next action may have. */
  #tokensLeft(): number {
    const { maxTokens } = this.#options;
    const limit = this.#continuation?.kind === "one-message" ? this.#continuation.maxResponseTokens : undefined;
    if (limit === undefined) return maxTokens;
    const used = this.#tokens === undefined ? 0 : this.#tokens.now - this.#tokens.first;
    return Math.min(maxTokens, limit - used);
  }

  #count({ usage }: Completion): void {
    if (usage === undefined) return;
    const { promptTokens, completionTokens } = usage;
    this.#tokens = { first: this.#tokens?.first ?? promptTokens, now: promptTokens + completionTokens };
  }

  #request(maxTokens: number, tools: readonly Tool[], stop: readonly string[], turn: number): Record<string, unknown> {
    const { model, maxTokensField = "max_tokens" } = this.#settings;
    const { temperature, topP, topK, seed, id, draws } = this.#options;
    const prefilled = this.#growing !== "";
    return {
      model,
      messages: [...this.#shown, ...(prefilled ? [{ role: "assistant", content: this.#growing }] : [])],
      ...(tools.length === 0 ? {} : { tools: tools.map((tool) => describedTool(tool, this.#names)) }),
      [maxTokensField]: maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined || topP === 1 ? {} : { top_p: topP }),
      ...(topK === undefined || topK === 0 ? {} : { top_k: topK }),
      ...(stop.length === 0 ? {} : { stop }),
      ...(prefilled ? { continue_final_message: true, add_generation_prompt: false } : {}),
      seed: seedOf(seed, "sample", draws?.id ?? id, turn) >>> 1,
    };
  }
}
