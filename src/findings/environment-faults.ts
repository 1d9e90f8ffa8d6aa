import { EnvError, MeasurementError } from "../core/errors.ts";
import { isBroken, isScored } from "../core/outcome.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import type { EpisodeFacts, Rule } from "./rule.ts";

/** Finds episodes that the environment, its tasks or its reward broke. */
export const environmentFaults: Rule<EpisodeFacts> = ({ trajectories }) => {
  const broken = trajectories.filter(isBroken);
  const [first] = broken;
  if (first === undefined) return undefined;
  return {
    cause: `${broken.length} of ${trajectories.length} episodes failed by the environment's fault: ${faultOf(first)}.`,
    example: first.id,
    next: "They are left out of the update. Repair what raises the error.",
  };
};

/** Finds episodes that their agent ended by an error of its own, at what the model had answered. */
export const agentErrors: Rule<EpisodeFacts> = ({ trajectories }) => {
  const ended = trajectories.filter((episode) => episode.stopReason === "agent-error" && !isBroken(episode));
  const [first] = ended;
  if (first === undefined) return undefined;
  return {
    cause: `In ${ended.length} of ${trajectories.length} episodes the agent raised an error after its model's answer: ${first.error?.slice(0, 200)}.`,
    example: first.id,
    next: "They have reward 0, as it is right where the answer raised it. An error that is not the answer's has to be repaired.",
  };
};

/**
 * Ends a run of whose episodes none could be played to its end, agents that fail before their model answers included.
 * @param where the step or the evaluation, for the message
 * @throws EnvError with the first message if every episode failed by the environment's fault; MeasurementError if it was the model's server
 */
export function requireWorkingEnvironment(groups: readonly Group[], name: string, where: string): void {
  refuseIfAll(isBroken, groups, name, where);
}

/** Ends an evaluation of whose episodes none has a score. @throws as `requireWorkingEnvironment` */
export function requireMeasured(groups: readonly Group[], name: string, where: string): void {
  refuseIfAll((episode) => !isScored(episode), groups, name, where);
}

function refuseIfAll(broken: (episode: Trajectory) => boolean, groups: readonly Group[], name: string, where: string): void {
  const episodes = groups.flatMap(({ trajectories }) => trajectories);
  const [first] = episodes;
  if (first === undefined || !episodes.every(broken)) return;
  if (first.stopReason === "actor-error")
    throw new MeasurementError(`the model's server in all ${episodes.length} episodes of ${where}`, faultOf(first), {
      expected: "at least one episode that no error ends",
      hint: "Nothing was measured. Check the server and evaluation.player.request, then evaluate again.",
    });
  throw new EnvError(`the environment "${name}" in all ${episodes.length} episodes of ${where}`, faultOf(first), {
    expected: "at least one episode that it does not break",
    hint: `Repair the environment or its reward. The first episode is ${first.id}.`,
  });
}

function faultOf({ stopReason, error }: Trajectory): string {
  return error === undefined ? stopReason : `${stopReason}, ${error.replace(/[.\s]+$/, "")}`;
}
