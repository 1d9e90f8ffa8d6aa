import "../install.ts";
import type { RunKey, Study } from "./definition.ts";
import { planHash, type RunOutcome } from "./outcome.ts";

/** Two arms in a tiny world. */
export function smallStudy(): Study {
  const at = (arm: string, rate: number) => ["near", arm, rate] as const;
  const [more, less] = [at("b", 1e-4), at("a", 1e-4)];
  return {
    name: "small",
    title: "A small study",
    worlds: {
      near: {
        title: "Near",
        config: {
          environment: "office",
          model: "bundled:office",
          rollout: { tasksPerStep: 2, groupSize: 2, hiddenTools: "allow" },
          steps: 2,
          engine: { threads: 1 },
          evaluation: { tasks: 3, k: 1, during: { every: 1, tasks: 2 } },
        },
        secondsPerRun: 360,
      },
    },
    arms: {
      a: { title: "A", config: { algorithm: "grpo" } },
      b: { title: "B", config: { algorithm: { kind: "grpo", miniBatches: 2 } } },
    },
    questions: {
      better: {
        title: "Is b better?",
        seeds: [1, 2, 3],
        contrasts: [
          { title: "b − a", outcome: "greedy", more, less },
          { title: "b − a", outcome: "sampled", more, less },
          { title: "falls", outcome: "fell", more: at("b", 1e-3), less: at("a", 1e-3) },
        ],
      },
    },
  };
}

/** An outcome with one value for all of its `tasks` at each of three evaluations. */
export function outcome(
  study: Study,
  key: Partial<RunKey> & Pick<RunKey, "arm" | "seed">,
  means: readonly [number, number, number],
  tasks = 4,
): RunOutcome {
  const full: RunKey = { world: "near", rate: 1e-4, ...key };
  const values = (value: number) => new Array<number>(tasks).fill(value);
  return {
    ...{ ...full, plan: planHash(study, full), optimiserSteps: 6 },
    curve: means.map((value, steps) => ({ steps, values: values(value) })),
    final: { sampled: values(means[2]), greedy: values(means[2]) },
  };
}
