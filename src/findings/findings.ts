import type { EvaluationRecord, Warning } from "../runs/records.ts";
import { echoTrap } from "./echo-trap.ts";
import { agentErrors, environmentFaults } from "./environment-faults.ts";
import { failingTool, lostResults, noToolCalls, oneBadEnd, oneBehaviour } from "./episode-rules.ts";
import { policyDied } from "./policy-died.ts";
import { refusedRequests } from "./refused-requests.ts";
import { constantReward, equalRewards, noSignal, startAtHundred, startAtZero } from "./reward-rules.ts";
import type { EpisodeFacts, Rule, StepFacts } from "./rule.ts";
import { unevenRequests } from "./uneven-requests.ts";

/** Looked at after every step and every evaluation. */
const episodeRules = {
  "environment-faults": environmentFaults,
  "agent-errors": agentErrors,
  "refused-requests": refusedRequests,
  "uneven-requests": unevenRequests,
  "no-tool-calls": noToolCalls,
  "one-bad-end": oneBadEnd,
  "failing-tool": failingTool,
  "lost-results": lostResults,
} as const satisfies Record<string, Rule<EpisodeFacts>>;

const stepRules = {
  ...episodeRules,
  "start-at-zero": startAtZero,
  "constant-reward": constantReward,
  "equal-rewards": equalRewards,
  "no-signal": noSignal,
  "echo-trap": echoTrap,
  "policy-died": policyDied,
} as const satisfies Record<string, Rule<StepFacts>>;

const startRules = {
  ...episodeRules,
  "start-at-hundred": startAtHundred,
} as const satisfies Record<string, Rule<EpisodeFacts>>;

/** Rules of a trained model: before training, one answer to all tasks is expected. */
const endRules = {
  ...episodeRules,
  "one-behaviour": oneBehaviour,
} as const satisfies Record<string, Rule<EpisodeFacts>>;

/** Returns the warnings of a training step. */
export function stepWarnings(facts: StepFacts): Warning[] {
  return found(stepRules, facts);
}

/** Returns the warnings of an evaluation, with those of a start that cannot teach for the evaluation before training. */
export function evaluationWarnings(when: EvaluationRecord["when"], facts: EpisodeFacts): Warning[] {
  // Demonstrations are for models that cannot do the task yet.
  if (when === "before" && facts.config.algorithm.kind === "sft") return [];
  return found<EpisodeFacts>(when === "before" ? startRules : endRules, facts);
}

function found<Facts extends EpisodeFacts>(rules: Readonly<Record<string, Rule<Facts>>>, facts: Facts): Warning[] {
  const [first, ...others] = facts.trajectories;
  if (first === undefined) return [];
  return Object.entries(rules).flatMap(([rule, check]) => {
    const finding = check({ ...facts, trajectories: [first, ...others] });
    return finding === undefined ? [] : [{ rule, ...finding }];
  });
}
