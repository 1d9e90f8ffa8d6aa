import { EpisodeStop } from "../core/episode-stop.ts";
import type { Message } from "../core/messages.ts";
import type { StopReason, Trajectory, Turn } from "../core/trajectory.ts";
import { namesOf, type Task } from "../environments/environment.ts";
import type { Actor } from "./actors/actor.ts";
import { type Answers, afterCalls, callTools, type OpenEpisode, replyTo } from "./answers.ts";
import { askScore, close } from "./ask.ts";
import type { RolloutOptions } from "./options.ts";
import { type Seat, Seats, withRoleReturns } from "./seats.ts";

/** How an episode comes to where it begins. */
export interface EpisodeStart {
  /** The turns and messages before it; absent for a rollout from the task's start. */
  readonly from?: { readonly turns: readonly Turn[]; readonly messages: readonly Message[] };
  /** Its environment in the state that belongs to it. What it throws as `EpisodeStop` ends the episode. */
  open(): Promise<OpenEpisode>;
  /** The environment's roles. Default none. */
  readonly roles?: readonly string[] | undefined;
}

/**
 * Plays one episode to its end. A fault of the environment or its tools is recorded on the trajectory, whose reward is then 0.
 * @throws ModelError if the chat template refuses the first messages; what the actor throws
 */
export async function playOut(
  actor: Actor,
  task: Task,
  { from, open, roles = [] }: EpisodeStart,
  options: RolloutOptions,
): Promise<Trajectory> {
  const { id, group } = options;
  const turns = (from?.turns ?? []).map((turn): Turn => ({ ...turn, trajectory: id }));
  const messages = [...(from?.messages ?? [])];
  const trajectory = { id, group, ...namesOf(task), messages };
  const failed = () => ({ ...trajectory, turns: turns.map(unrewarded), reward: 0, scores: {} });
  const seats = new Seats(actor, roles, options);
  let live: OpenEpisode | undefined;
  try {
    live = await open();
    const { episode } = live;
    if (from === undefined) messages.push(...episode.messages);
    const stopReason = await play(seats, seats.first(live, messages), { turns, messages }, options);
    const score = await askScore(episode, messages, options);
    const reward = turns.reduce((sum, turn) => sum + (turn.reward ?? 0), score.reward);
    return { ...trajectory, turns, ...score, scores: withRoleReturns(roles, score.scores, turns), reward, stopReason };
  } catch (stop) {
    if (options.signal?.aborted) return { ...failed(), stopReason: "cancelled" };
    if (stop instanceof EpisodeStop) return { ...failed(), stopReason: stop.reason, error: stop.message };
    throw stop;
  } finally {
    seats.release();
    await close(live?.episode, options);
  }
}

/** The return of a failed episode is 0, and so are its turns'. */
function unrewarded({ reward: _, ...turn }: Turn): Turn {
  return turn;
}

/** @returns why the episode ended, where it ended as it may */
async function play(
  seats: Seats,
  start: Seat,
  { turns, messages }: { readonly turns: Turn[]; readonly messages: Message[] },
  options: RolloutOptions,
): Promise<StopReason> {
  for (let seat = start; ; ) {
    const { role, session, live, conversation } = seat;
    const act = await seats.act(seat, turns);
    if (act === undefined) return "max-tokens";
    const { read, truncated, record } = act;
    messages.push(read.message);
    conversation.push(read.message);
    // The calls of an action that was cut off are not known.
    const results = truncated || read.calls.length === 0 ? undefined : await callTools(live, read, options);
    const invalid = results?.invalid ?? 0;
    turns.push({
      ...record,
      trajectory: options.id,
      turn: turns.length,
      ...(role !== undefined && { role }),
      truncated,
      toolCalls: (results?.messages.length ?? 0) - invalid,
      invalidToolCalls: invalid,
      ...(results === undefined || results.failures.length === 0 ? {} : { toolFailures: results.failures }),
    });
    if (read.goesOn === true) {
      if (limitReached(live, turns, conversation, options)) return "max-turns";
      session.retract(act);
      continue;
    }
    if (truncated) return "max-tokens";
    const answers: Answers =
      results === undefined ? await replyTo(live, read, options) : await afterCalls(live, read, results, options);
    const own = results?.messages.length ?? 0;
    // Another role may be given what has been shown, an action of this one among it.
    const isNew = (message: Message, i: number) =>
      message.role !== "assistant" && !messages.includes(message) && answers.messages.indexOf(message) === i;
    messages.push(...(answers.next === undefined ? answers.messages : answers.messages.filter(isNew)));
    const last = turns.at(-1);
    if (answers.reward !== undefined && last !== undefined) turns[turns.length - 1] = { ...last, reward: answers.reward };
    if (answers.done) return "done";
    seat = seats.after(seat, act, answers, own);
    if (limitReached(seat.live, turns, seat.conversation, options)) return "max-turns";
  }
}

/** True if there is no turn left, of the episode or of the user's last request. */
function limitReached(
  { episode: { limits } }: OpenEpisode,
  turns: readonly Turn[],
  messages: readonly Message[],
  { maxTurns, maxTurnsPerRequest = Number.POSITIVE_INFINITY }: RolloutOptions,
): boolean {
  if (turns.length >= Math.min(maxTurns, limits?.turns ?? maxTurns)) return true;
  const perRequest = Math.min(maxTurnsPerRequest, limits?.turnsPerRequest ?? maxTurnsPerRequest);
  if (turns.length < perRequest) return false;
  const request = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(request + 1).filter(({ role }) => role === "assistant").length >= perRequest;
}
