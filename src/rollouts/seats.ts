import { EpisodeStop } from "../core/episode-stop.ts";
import type { Message } from "../core/messages.ts";
import { roleScore, type Trajectory, type Turn } from "../core/trajectory.ts";
import type { Act, Actor, ActorSession } from "./actors/actor.ts";
import type { Answers, OpenEpisode } from "./answers.ts";
import type { RolloutOptions } from "./options.ts";

/** A role in an episode: it has a conversation of its own, and so a session of the actor's. */
export interface Seat {
  readonly role: string | undefined;
  /** The episode with the tools that the role has. */
  live: OpenEpisode;
  /** The messages that the role has read and written. */
  readonly conversation: Message[];
  readonly session: ActorSession;
  /** Its last action and the answers to it, until it acts again. */
  heard?: { readonly act: Act; readonly answers: Message[] } | undefined;
}

/** The roles that have acted in an episode. Without roles there is one seat, whose conversation is the episode's. */
export class Seats {
  readonly #actor: Actor;
  readonly #roles: readonly string[];
  readonly #options: RolloutOptions;
  readonly #seats = new Map<string | undefined, Seat>();

  constructor(actor: Actor, roles: readonly string[], options: RolloutOptions) {
    this.#actor = actor;
    this.#roles = roles;
    this.#options = options;
  }

  /** Seats the role that acts first. @throws EpisodeStop for a role that the environment has not */
  first(live: OpenEpisode, messages: readonly Message[]): Seat {
    return this.#seated(live.episode.role, live, [...messages]);
  }

  /**
   * Gives an action's answers to the role that acts next.
   * @param own the number of answers that are the tools': they belong to the action
   * @throws EpisodeStop for a role that the environment has not
   */
  after(seat: Seat, act: Act, { messages, tools, next }: Answers, own: number): Seat {
    seat.heard = { act, answers: [] };
    hear(seat, messages.slice(0, own));
    const opening = messages.slice(own);
    if (next === undefined) return given(seat, opening, tools);
    const { episode } = seat.live;
    const other = this.#seats.get(next.role);
    if (other === undefined) return this.#seated(next.role, { episode, tools: next.tools ?? episode.tools }, opening);
    return given(other, opening, next.tools ?? other.live.tools);
  }

  /** Chooses a role's next action, once it has heard what its last one led to. */
  act(seat: Seat, turns: readonly Turn[]): Promise<Act | undefined> {
    const { session, live, conversation, heard } = seat;
    if (heard !== undefined) session.observe(heard.act, heard.answers, live.tools);
    seat.heard = undefined;
    return session.act(live, turns, conversation);
  }

  #seated(role: string | undefined, live: OpenEpisode, conversation: Message[]): Seat {
    requireRole(this.#roles, role);
    if (conversation.length === 0)
      throw new EpisodeStop("environment-error", `role "${role}" acts next and has nothing to read: give it messages`);
    const opening = { episode: { messages: [...conversation], protocol: live.episode.protocol }, tools: live.tools };
    const seat = { role, session: this.#actor.begin(opening, this.#optionsOf(role)), live, conversation };
    this.#seats.set(role, seat);
    return seat;
  }

  /** Ids and random numbers of its own, so that no two roles draw alike. */
  #optionsOf(role: string | undefined): RolloutOptions {
    if (role === undefined) return this.#options;
    const { id, group, draws = { id, group } } = this.#options;
    return { ...this.#options, id: roleId(id, role), draws: { ...draws, id: roleId(draws.id, role) } };
  }

  /** Frees what the actor keeps for the episode. */
  release(): void {
    this.#actor.release(this.#options.id);
    for (const role of this.#seats.keys()) if (role !== undefined) this.#actor.release(roleId(this.#options.id, role));
  }
}

function given(seat: Seat, messages: readonly Message[], tools: OpenEpisode["tools"]): Seat {
  hear(seat, messages);
  seat.live = { ...seat.live, tools };
  return seat;
}

function hear({ conversation, heard }: Seat, messages: readonly Message[]): void {
  conversation.push(...messages);
  heard?.answers.push(...messages);
}

function roleId(id: string, role: string): string {
  return `${id}/${role}`;
}

function requireRole(roles: readonly string[], role: string | undefined): void {
  if (role === undefined ? roles.length === 0 : roles.includes(role)) return;
  const given = role === undefined ? "no role acts first" : `role "${role}" acts next`;
  throw new EpisodeStop(
    "environment-error",
    `${given}; expected ${roles.length === 0 ? "none: the environment has no roles" : roles.join(" or ")}`,
  );
}

/**
 * The scores of an episode with the return of each role: the environment's score of it, and the rewards of its own turns.
 * @throws EpisodeStop for a role without a score
 */
export function withRoleReturns(
  roles: readonly string[],
  scores: Trajectory["scores"],
  turns: readonly Turn[],
): Trajectory["scores"] {
  const returns = roles.map((role) => {
    const given = scores[roleScore(role)];
    if (given === undefined)
      throw new EpisodeStop("environment-error", `score gave no ${roleScore(role)}: every role has a reward of its own`);
    return [roleScore(role), turns.reduce((sum, turn) => sum + (turn.role === role ? (turn.reward ?? 0) : 0), given)];
  });
  return { ...scores, ...Object.fromEntries(returns) };
}
