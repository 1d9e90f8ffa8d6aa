import type { Chat, ChatContext } from "../../chat/chat.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import { EpisodeStop } from "../../core/episode-stop.ts";
import { ModelError } from "../../core/errors.ts";
import type { Message } from "../../core/messages.ts";
import { seedOf } from "../../core/random.ts";
import type { BranchDecision, Turn } from "../../core/trajectory.ts";
import type { SampledAction, Sampler } from "../../engines/engine.ts";
import type { OpenEpisode } from "../answers.ts";
import { dialogueOf } from "../dialogue.ts";
import type { RolloutOptions } from "../options.ts";
import type { Actor, ActorSession, Opening } from "./actor.ts";
import { tokenPolicy } from "./token-policy.ts";

/** Where an episode is before its next action. Never changed, so that more than one can continue from it. */
export interface EpisodeState {
  readonly context: ChatContext;
  readonly turns: readonly Turn[];
  /** The conversation so far. */
  readonly messages: readonly Message[];
}

/** A sampled action, before anything is called or reported: the environment is still as it was when the action was chosen. */
export interface PendingAction {
  readonly live: OpenEpisode;
  readonly state: EpisodeState;
  readonly action: SampledAction;
}

/** Looks at every action; its decision is kept with the turn. */
export type OnAction = (pending: PendingAction) => BranchDecision | undefined | Promise<BranchDecision | undefined>;

/** Tokens that an action begins with, and what was recorded of them. */
export type Begun = Pick<SampledAction, "tokens" | "logprobs" | "entropies">;

export interface TokenActorOptions {
  /** Where a fork continues. Default: the episode's first messages. */
  readonly from?: EpisodeState;
  /** The beginning of the first action, as it was sampled before; the rest is sampled. Default: nothing. */
  readonly begun?: Begun;
  readonly onAction?: OnAction;
}

/** A model that is sampled through its chat template, or through the episode's text protocol: tokens in, tokens out. */
export function tokenActor(sampler: Sampler, chat: Chat, { from, begun, onAction }: TokenActorOptions = {}): Actor {
  return {
    begin: (live, options) => new TokenSession(sampler, chat, live, options, { from, begun, onAction }),
    policy: (options, turns, signal) => tokenPolicy(sampler, chat, options, turns, signal),
    release: (id) => sampler.release(id),
  };
}

class TokenSession implements ActorSession {
  readonly #sampler: Sampler;
  readonly #chat: Chat;
  readonly #options: RolloutOptions;
  readonly #onAction: OnAction | undefined;
  readonly #dialogue: ReturnType<typeof dialogueOf>;
  readonly #maxLength: number;
  #context: ChatContext;
  #begun: Begun | undefined;

  constructor(
    sampler: Sampler,
    chat: Chat,
    { episode, tools }: Opening,
    options: RolloutOptions,
    { from, begun, onAction }: { readonly [Name in keyof TokenActorOptions]: TokenActorOptions[Name] | undefined },
  ) {
    this.#sampler = sampler;
    this.#chat = chat;
    this.#options = options;
    this.#onAction = onAction;
    this.#begun = begun;
    this.#dialogue = dialogueOf(chat, episode.protocol);
    this.#context = from?.context ?? this.#dialogue.open(episode.messages, tools);
    const opening = (from?.turns[0]?.context ?? this.#context.ids).length;
    this.#maxLength = Math.min(sampler.info.maxLength, opening + this.#dialogue.maxResponseTokens);
  }

  async act(live: OpenEpisode, turns: readonly Turn[], messages: readonly Message[]) {
    const context = this.#context;
    const options = this.#options;
    const maxTokens = Math.min(options.maxTokens, this.#maxLength - context.ids.length);
    if (maxTokens < 1) {
      if (turns.length > 0) return undefined;
      const lengths = `The first messages take ${context.ids.length} tokens, the model ${this.#sampler.info.maxLength} in all.`;
      throw new EpisodeStop("max-tokens", `${lengths} Shorten the task or use a model with a longer context.`);
    }
    const { stopStrings } = this.#dialogue;
    const begun = this.#begun;
    this.#begun = undefined;
    const sampled = await this.#sampler.sample({
      context: begun === undefined ? context.ids.slice() : [...context.ids.slice(), ...begun.tokens],
      maxTokens: maxTokens - (begun?.tokens.length ?? 0),
      stopTokens: this.#chat.tokenizer.stopTokens,
      ...(stopStrings === undefined || stopStrings.length === 0 ? {} : { stopStrings }),
      seed: seedOf(options.seed, "sample", options.draws?.id ?? options.id, turns.length),
      temperature: options.temperature,
      topP: options.topP,
      topK: options.topK,
      cacheKey: options.id,
      signal: options.signal,
    });
    const action = begun === undefined ? sampled : continued(begun, sampled, stopStrings, this.#chat.tokenizer);
    const { tokens, logprobs, entropies, finish, weightVersion } = action;
    const decided = this.#onAction?.({ live, state: { context, turns: [...turns], messages: [...messages] }, action });
    const branching = decided instanceof Promise ? await decided : decided;
    return {
      read: this.#dialogue.read(this.#chat.actionText(tokens), messages, live.tools),
      truncated: finish === "length",
      record: {
        context: context.ids,
        action: tokens,
        samplerLogprobs: logprobs,
        entropies,
        weightVersion,
        rewritten: context.rewritten,
        ...(branching === undefined ? {} : { branching }),
      },
    };
  }

  observe: ActorSession["observe"] = ({ read, record }, answers, tools) => {
    try {
      this.#context = this.#dialogue.extend(this.#context, record.action, read.message, answers, tools);
    } catch (error) {
      // The template took the first messages, so it is this conversation that it cannot render.
      if (error instanceof ModelError) throw new EpisodeStop("environment-error", error.message);
      throw error;
    }
  };

  retract: ActorSession["retract"] = ({ read, record }) => {
    this.#context = this.#chat.retract(this.#context, record.action, read.message);
  };
}

/** An action from its beginning and its rest. A stop string that begins in the one and ends in the other is not seen by the sampler. */
function continued(begun: Begun, rest: SampledAction, stopStrings: readonly string[] = [], { decode }: Tokenizer): SampledAction {
  const reach = Math.max(0, ...stopStrings.map((text) => Buffer.byteLength(text)));
  const tail = begun.tokens.slice(-reach);
  const stops = (count: number) => stopStrings.some((text) => decode([...tail, ...rest.tokens.slice(0, count)]).includes(text));
  let count = Math.min(1, rest.tokens.length);
  while (count < Math.min(reach, rest.tokens.length) && !stops(count)) count++;
  const stopped = count > 0 && stops(count);
  const own = <Value>(values: readonly Value[]) => (stopped ? values.slice(0, count) : values);
  return {
    tokens: [...begun.tokens, ...own(rest.tokens)],
    logprobs: [...begun.logprobs, ...own(rest.logprobs)],
    entropies: [...begun.entropies, ...own(rest.entropies)],
    finish: stopped ? "stop" : rest.finish,
    weightVersion: rest.weightVersion,
  };
}
