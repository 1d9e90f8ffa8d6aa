import "../install.ts";
import { parseStudy, type RunKey, type Study, type StudyDefinition } from "./definition.ts";
import type { RunOutcome } from "./outcome.ts";
import { planHash } from "./store.ts";

/** Two arms in a tiny world, and a third one in another that has no model yet. */
export const smallDefinition = {
  title: "A small study",
  question: "Is b better than a?",
  worlds: {
    near: {
      title: "Near",
      about: "A small world.",
      config: {
        environment: "office",
        model: "bundled:office",
        rollout: { tasksPerStep: 2, groupSize: 2, hiddenTools: "allow" },
        steps: 2,
        engine: { threads: 1 },
        evaluation: { tasks: 3, k: 1, during: { every: 1, tasks: 2 } },
      },
      secondsPerRun: 36,
    },
    far: {
      title: "Far",
      about: "Not there yet.",
      config: {},
      secondsPerRun: 360,
      rates: [1e-5, 1e-4, 1e-3],
      pending: "it has no model.",
    },
  },
  arms: {
    a: { title: "A", config: { algorithm: "grpo" } },
    b: { title: "B", config: { algorithm: { kind: "grpo", miniBatches: 2 } } },
    c: { title: "C", config: { algorithm: "seeupo" }, worlds: ["far"] },
  },
  rates: [1e-4, 1e-3],
  tuningSeeds: [11, 12],
  seeds: [1, 2, 3],
  questions: {
    better: {
      title: "Is b better?",
      ask: "b against a.",
      answer: "Not known.",
      missing: "All of it.",
      seeds: 3,
      contrasts: [
        { title: "b − a at one rate", more: ["near", "b", 1e-4], less: ["near", "a", 1e-4], test: "different" },
        { title: "at best rates", outcome: "greedy", more: ["near", "b", "best"], less: ["near", "a", "best"] },
        { title: "falls", outcome: "fell", more: ["near", "b", 1e-3], less: ["near", "a", 1e-3] },
      ],
    },
  },
} satisfies StudyDefinition;

export function smallStudy(changes: Partial<StudyDefinition> = {}): Study {
  return parseStudy("small", { ...smallDefinition, ...changes });
}

/** An outcome with one value for all of its `tasks` at each of three evaluations, at 0, 4 and 8 episodes. */
export function outcome(
  study: Study,
  key: Partial<RunKey> & Pick<RunKey, "arm" | "seed">,
  means: readonly [number, number, number],
  changes: Partial<RunOutcome> = {},
  tasks = 4,
): RunOutcome {
  const full: RunKey = { world: "near", rate: 1e-4, ...key };
  const values = (value: number) => new Array<number>(tasks).fill(value);
  return {
    ...full,
    ...{ plan: planHash(study, full), version: "0", node: "0", optimiserSteps: 6, cpuSeconds: 10 },
    curve: means.map((value, i) => ({ steps: i, episodes: 4 * i, toolCalls: 10 * i, sampledTokens: 0, values: values(value) })),
    final: { sampled: values(means[2]), ...(study.tuningSeeds.includes(full.seed) ? {} : { greedy: values(means[2]) }) },
    ...changes,
  };
}
