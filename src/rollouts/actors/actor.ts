import type { ReadAction } from "../../actions/action.ts";
import type { Message } from "../../core/messages.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { Episode, TokenPolicy } from "../../environments/environment.ts";
import type { Tool } from "../../tools/tool.ts";
import type { OpenEpisode } from "../answers.ts";
import type { RolloutOptions } from "../options.ts";

/**
 * Who acts in an episode: the seam between the episode loop and what chooses actions. The token actor samples a model through its chat
 * template, and can be trained; the endpoint actor asks a server, in messages; an agent that others wrote may wait here until it is asked.
 */
export interface Actor {
  /** Begins an episode. @throws ModelError if the chat template refuses the first messages */
  begin(opening: Opening, options: RolloutOptions): ActorSession;
  /**
   * A policy in token ids, for environments that play by themselves. Absent where the actor has no tokens.
   * @param turns gets one for each action
   * @param signal aborted when the episode is over
   */
  policy?(options: RolloutOptions, turns: Turn[], signal: AbortSignal): TokenPolicy;
  /** Frees an episode's resources, whether it began or not. */
  release(id: string): void;
}

/** The beginning of a conversation. */
export interface Opening extends Pick<OpenEpisode, "tools"> {
  readonly episode: Pick<Episode, "messages" | "protocol">;
}

/** An actor in one conversation. */
export interface ActorSession {
  /**
   * Chooses the next action.
   * @param turns of the episode so far, `messages` the conversation
   * @returns undefined if there is no room for another one
   * @throws EpisodeStop if there is no room for the first one
   */
  act(live: OpenEpisode, turns: readonly Turn[], messages: readonly Message[]): Promise<Act | undefined>;
  /** Continues behind an action and its answers. @param tools from now on */
  observe(act: Act, answers: readonly Message[], tools: readonly Tool[]): void;
  /** Continues behind the message's content, a beginning of what was said. */
  retract(act: Act): void;
}

export interface Act {
  readonly read: ReadAction;
  /** True if a limit of tokens cut it off: its calls are not made. */
  readonly truncated: boolean;
  readonly record: TurnRecord;
}

/** The actor's part of a recorded turn. */
export type TurnRecord = Pick<
  Turn,
  "context" | "action" | "samplerLogprobs" | "entropies" | "weightVersion" | "rewritten" | "branching" | "usage"
>;
