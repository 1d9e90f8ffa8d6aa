import type { StepRecord } from "../runs/records.ts";
import type { Rule, StepFacts } from "./rule.ts";

const deadSteps = 3;
/** Nats. A trained model of the bundled worlds has about 0.01; below this every token is certain. */
const deadEntropy = 1e-5;
const deadGradient = 1e-10;

/** Finds that a policy which once learned is dead: its reward fell to 0, or its entropy or its gradients are gone. */
export const policyDied: Rule<StepFacts> = ({ record, history, trajectories }) => {
  const last = [...history, record].slice(-deadSteps);
  if (last.length < deadSteps) return undefined;
  const values = (steps: readonly StepRecord[], name: string) => steps.map(({ metrics }) => metrics[name] ?? null);
  const all = (name: string, is: (value: number) => boolean) => values(last, name).every((value) => value !== null && is(value));
  const earlier = history.slice(0, -deadSteps + 1);
  const best = Math.max(...values(earlier, "reward").map((value) => value ?? 0), 0);
  const worst = Math.max(...last.map(({ metrics }) => metrics.rewardMax ?? Number.POSITIVE_INFINITY));
  const example = trajectories[0].id;
  if (best > 0 && worst <= 0)
    return {
      cause: `The policy died: its reward was up to ${short(best)} and is 0 in every episode of the last ${deadSteps} steps.`,
      example,
      next: "Start from an earlier checkpoint (`runs model` writes its model) with a lower optimizer.learningRate, or with algorithm.klCoef above 0.",
    };
  if (all("entropy", (value) => Math.abs(value) < deadEntropy))
    return {
      cause: `The policy died: its entropy is below ${deadEntropy} nats for ${deadSteps} steps, so all rollouts of a task are alike.`,
      example,
      next: "Lower optimizer.learningRate, raise rollout.temperature or algorithm.entropyCoef, and start from an earlier checkpoint (`runs model`).",
    };
  const hadSignal = last.every(({ metrics }) => (metrics.groupsWithoutSignal ?? 0) < (metrics.groups ?? 0));
  if (hadSignal && all("gradientNorm", (value) => value < deadGradient))
    return {
      cause: `The policy died: its gradient is 0 for ${deadSteps} steps although rewards differ.`,
      example,
      next: "Look at clipFraction: if it is 1, lower optimizer.learningRate or widen the clip range.",
    };
  return undefined;
};

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
