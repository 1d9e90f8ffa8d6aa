import type { IdleLimit } from "../core/deadline.ts";
import { DeadlineError, idleLimit } from "../core/deadline.ts";
import { EpisodeStop } from "../core/episode-stop.ts";
import { EngineError, reasonOf } from "../core/errors.ts";
import type { Trajectory, Turn } from "../core/trajectory.ts";
import { callUserCode } from "../core/user-code.ts";
import type { TokenPolicy } from "../environments/environment.ts";
import { type Environment, namesOf, type Task } from "../environments/environment.ts";
import type { Actor } from "./actors/actor.ts";
import { checkedScore } from "./ask.ts";
import type { RolloutOptions } from "./options.ts";

/**
 * Plays one episode of an environment that plays by itself: it asks the actor's policy for actions. A fault of it is recorded on the
 * trajectory, whose reward is then 0. It has `episodeTimeoutMs` to its first action, from each action to the next, and from the last to its
 * end. What it asks or answers after that is refused.
 * @throws EngineError if the actor has no tokens; what its sampler throws
 */
export async function playedBySelf<T extends Task>(
  actor: Actor,
  environment: Environment<T>,
  play: NonNullable<Environment<T>["play"]>,
  task: T,
  options: RolloutOptions,
): Promise<Trajectory> {
  const { id, group, signal, episodeTimeoutMs } = options;
  const turns: Turn[] = [];
  const over = new AbortController();
  const idle = idleLimit(episodeTimeoutMs);
  const stop = AbortSignal.any([over.signal, idle.signal, ...(signal === undefined ? [] : [signal])]);
  const policy = actor.policy?.(options, turns, stop);
  if (policy === undefined)
    throw new EngineError(`the environment "${environment.name}"`, "a chat endpoint", {
      expected: "an engine that samples tokens",
      hint: "Its program asks for actions in token ids.",
    });
  const trajectory = { id, group, ...namesOf(task), turns };
  const { watching, seen } = watched(policy, idle, stop);
  const failed = (stopReason: Trajectory["stopReason"], error?: string): Trajectory => ({
    ...{ ...trajectory, messages: [], reward: 0, scores: {}, stopReason },
    ...(error === undefined ? {} : { error }),
  });
  try {
    const begin = () => play.call(environment, task, watching);
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, signal: stop };
    const { messages, score, fault, answer, without = [] } = await callUserCode(`play() of "${environment.name}"`, begin, limits);
    if (seen.broken !== undefined) throw seen.broken;
    const checked = checkedScore(score);
    if (turns.length === 0) throw new EpisodeStop("environment-error", fault ?? "play ended without asking for an action");
    const left = turns.filter((_, i) => !without.includes(i)).map((turn, i) => ({ ...turn, turn: i }));
    const last = left.at(-1)?.truncated ? "max-tokens" : "done";
    const kept = { ...(answer !== undefined && { answer }), ...(fault !== undefined && { error: fault }) };
    return { ...trajectory, turns: left, messages: [...messages], ...checked, stopReason: seen.limit?.reason ?? last, ...kept };
  } catch (error) {
    if (signal?.aborted) return failed("cancelled");
    // A sampler that breaks ends the run, whatever the program made of it.
    if (seen.broken !== undefined) throw seen.broken;
    if (error instanceof EpisodeStop) return failed(seen.limit?.reason ?? error.reason, error.message);
    if (error instanceof DeadlineError)
      return failed(
        "environment-timeout",
        `play: ${error.message} (rollout.episodeTimeoutMs, between two requests to the model)`,
      );
    return failed(seen.limit?.reason ?? "environment-error", `play: ${reasonOf(error)}`);
  } finally {
    idle.end();
    over.abort(new EpisodeStop("done", "the episode is over"));
    actor.release(id);
  }
}

/** The errors that the program which plays may hide. */
interface Seen {
  limit?: EpisodeStop;
  broken?: unknown;
}

/** The policy with its first limit and first breaking error remembered, and its answers outside of the program's time. */
function watched(
  policy: TokenPolicy,
  idle: IdleLimit,
  stop: AbortSignal,
): { readonly watching: TokenPolicy; readonly seen: Seen } {
  const seen: Seen = {};
  const watch = <Request, Reply>(call: (request: Request) => Promise<Reply>, breaks: (error: unknown) => boolean) => {
    return async (request: Request): Promise<Reply> => {
      try {
        return await idle.pausedFor(() => call(request));
      } catch (error) {
        if (error instanceof EpisodeStop) seen.limit ??= error;
        else if (!stop.aborted && breaks(error)) seen.broken ??= error;
        throw error;
      }
    };
  };
  const sample = watch(policy.sample, () => true);
  // A conversation that the template refuses is the program's fault.
  const converse = watch(policy.converse, (error) => error instanceof EngineError);
  return { watching: { ...policy, sample, converse }, seen };
}
