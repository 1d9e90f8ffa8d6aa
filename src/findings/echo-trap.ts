import { mean, median } from "../core/mean.ts";
import type { StepRecord } from "../runs/records.ts";
import { percentOf, type Rule, type StepFacts } from "./rule.ts";

const lastSteps = 3;
/** Fewer earlier steps say too little of what is usual. */
const earlierSteps = 8;

/**
 * Finds RAGEN's echo trap (arXiv:2504.20073, §4): rollouts of a task become alike before the reward falls. All three signs are asked for, since each
 * alone is also one of learning: rewards that vary in fewer groups, a lower entropy, and a spike of the gradient's norm. A reward above all that was
 * before is success, and no trap.
 */
export const echoTrap: Rule<StepFacts> = ({ record, history, trajectories }) => {
  const steps = [...history, record];
  const [earlier, last] = [steps.slice(0, -lastSteps), steps.slice(-lastSteps)];
  if (earlier.length < earlierSteps) return undefined;
  const beside = (of: (step: StepRecord) => number[]) => ({ earlier: earlier.flatMap(of), last: last.flatMap(of) });
  const [reward, varying] = [beside(metric("reward")), beside(varyingGroups)];
  const [entropy, gradient] = [beside(metric("entropy")), beside(metric("gradientNorm"))];
  if ([reward, varying, entropy, gradient].some((values) => values.earlier.length < earlierSteps || values.last.length === 0))
    return undefined;
  const spike = Math.max(...gradient.last) / median(gradient.earlier);
  if (!(mean(varying.last) <= median(varying.earlier) / 2 && mean(entropy.last) <= median(entropy.earlier) / 2)) return undefined;
  if (!(spike >= 3) || mean(reward.last) > Math.max(...reward.earlier) + 1e-9) return undefined;
  return {
    cause:
      `An echo trap (RAGEN): in the last ${lastSteps} steps rewards differ in ${percentOf(mean(varying.last))} of the groups (before ${percentOf(median(varying.earlier))}), ` +
      `entropy is ${short(mean(entropy.last))} nats (${short(median(entropy.earlier))}), and the gradient's norm reached ${short(spike)} times its median.`,
    example: trajectories[0].id,
    next: "Start from a checkpoint before the spike (`runs model`) with a lower optimizer.learningRate. Tasks whose rewards vary (dapo), algorithm.klCoef and a smaller optimizer.clipNorm hold it off.",
  };
};

const metric =
  (name: string) =>
  ({ metrics }: StepRecord): number[] => {
    const value = metrics[name];
    return typeof value === "number" ? [value] : [];
  };

/** The share of the groups whose rewards vary. */
function varyingGroups({ metrics: { groups, groupsWithoutSignal } }: StepRecord): number[] {
  return typeof groups === "number" && typeof groupsWithoutSignal === "number" && groups > 0
    ? [1 - groupsWithoutSignal / groups]
    : [];
}

function short(value: number): string {
  return String(Number(value.toPrecision(2)));
}
