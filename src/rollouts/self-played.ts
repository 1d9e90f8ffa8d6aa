import { EngineError, reasonOf } from "../core/errors.ts";
import type { Trajectory, Turn } from "../core/trajectory.ts";
import type { Environment, Task } from "../environments/environment.ts";
import type { Actor } from "./actors/actor.ts";
import { checkedScore } from "./ask.ts";
import { EpisodeStop, type RolloutOptions } from "./options.ts";

/**
 * Plays one episode of an environment that plays by itself: it asks the actor's policy for actions. A fault of it is recorded on the
 * trajectory, whose reward is then 0.
 * @throws EngineError if the actor has no tokens; what its sampler throws
 */
export async function playedBySelf<T extends Task>(
  actor: Actor,
  environment: Environment<T>,
  play: NonNullable<Environment<T>["play"]>,
  task: T,
  options: RolloutOptions,
): Promise<Trajectory> {
  const { id, group, signal } = options;
  const turns: Turn[] = [];
  const stop = new AbortController();
  const cancel = () => stop.abort(signal?.reason);
  if (signal?.aborted) cancel();
  signal?.addEventListener("abort", cancel);
  const policy = actor.policy?.(options, turns, stop.signal);
  if (policy === undefined)
    throw new EngineError(`the environment "${environment.name}"`, "a chat endpoint", {
      expected: "an engine that samples tokens",
      hint: "Its program asks for actions in token ids.",
    });
  const trajectory = { id, group, task: task.id, ...(task.kind === undefined ? {} : { kind: task.kind }), turns };
  let limit: EpisodeStop | undefined;
  let broken: unknown;
  const sample: typeof policy.sample = async (request) => {
    try {
      return await policy.sample(request);
    } catch (error) {
      // The program that plays may hide the error, so it is remembered here.
      if (error instanceof EpisodeStop) limit ??= error;
      else broken ??= error;
      throw error;
    }
  };
  const failed = (stopReason: Trajectory["stopReason"], error?: string): Trajectory => ({
    ...{ ...trajectory, messages: [], reward: 0, scores: {}, stopReason },
    ...(error === undefined ? {} : { error }),
  });
  try {
    const { messages, score } = await play.call(environment, task, { ...policy, sample });
    if (broken !== undefined) throw broken;
    const checked = checkedScore(score);
    if (turns.length === 0) throw new EpisodeStop("environment-error", "play ended without asking for an action");
    const last = turns.at(-1)?.truncated ? "max-tokens" : "done";
    return { ...trajectory, messages: [...messages], ...checked, stopReason: limit?.reason ?? last };
  } catch (error) {
    if (signal?.aborted) return failed("cancelled");
    // A sampler that breaks ends the run, whatever the program made of it.
    if (broken !== undefined) throw broken;
    if (error instanceof EpisodeStop) return failed(error.reason, error.message);
    return failed(limit?.reason ?? "environment-error", `play: ${reasonOf(error)}`);
  } finally {
    stop.abort();
    signal?.removeEventListener("abort", cancel);
    actor.release(id);
  }
}
