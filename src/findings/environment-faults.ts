import { EnvError } from "../core/errors.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import { failed } from "../rewards/compose.ts";
import type { EpisodeFacts, Rule } from "./rule.ts";

/** Finds episodes that the environment, its tasks or its reward broke. */
export const environmentFaults: Rule<EpisodeFacts> = ({ trajectories, config }) => {
  const broken = trajectories.filter(failed);
  const [first] = broken;
  if (first === undefined) return undefined;
  return {
    cause: `${broken.length} of ${trajectories.length} episodes failed by the environment's fault: ${faultOf(first)}.`,
    example: first.id,
    next:
      config.rollout.failures === "mask"
        ? "They are left out of the update (rollout.failures). Repair what raises the error."
        : "They are trained on with reward 0 (rollout.failures). Repair what raises the error.",
  };
};

/**
 * Ends a run whose environment does not work at all.
 * @param where the step or the evaluation, for the message
 * @throws EnvError with the first message if every episode failed by the environment's fault
 */
export function requireWorkingEnvironment(groups: readonly Group[], name: string, where: string): void {
  const episodes = groups.flatMap(({ trajectories }) => trajectories);
  const [first] = episodes;
  if (first === undefined || !episodes.every(failed)) return;
  throw new EnvError(`the environment "${name}" in all ${episodes.length} episodes of ${where}`, faultOf(first), {
    expected: "at least one episode that it does not break",
    hint: `Repair the environment or its reward. The first episode is ${first.id}.`,
  });
}

function faultOf({ stopReason, error }: Trajectory): string {
  return error === undefined ? stopReason : `${stopReason}, ${error.replace(/[.\s]+$/, "")}`;
}
