import type { Cell, Contrast, Question, Study } from "../study/definition.ts";

/** The model that SmolLM2-135M becomes by the demonstrations of the demo's first stage (`retrograde-rl demo smollm2 --task calculator`). */
const calculatorModel = "runs/demo-smollm2-calculator-1/form";

/** One optimiser for all arms: rates differ, and nothing else. */
const optimizer = { schedule: "constant", warmupSteps: 0, beta2: 0.95, weightDecay: 0 } as const;

const measured = {
  engine: { threads: 1 },
  record: { credits: false, after: 0 },
  checkpoint: { every: 4, keep: 1 },
} as const;

/** The rate of all arms. */
const rate = 1e-4;
/** GRPO's one step at this rate is as long as SeeUPO's steps together at `rate`. */
const equalProduct = 1.3e-3;
/** The best of GRPO's rates by the tuning runs, which are in the study's file of outcomes. Those of the other arms are `rate`. */
const bestOfGrpo = 3e-4;

/** The same contrast of greedy attempts, as the published evaluation has them, and of sampled ones. */
function both(title: string, more: Cell, less: Cell): Contrast[] {
  return [
    { title, outcome: "greedy", more, less },
    { title, outcome: "sampled", more, less },
  ];
}

const office = (arm: string, at = rate): Cell => ["office", arm, at];
const calculator = (arm: string): Cell => ["calculator", arm, 3e-4];
const falls = (title: string, less: Cell): Contrast => ({ title, outcome: "fell", more: office("seeupo"), less });
const question = (title: string, ...contrasts: Contrast[][]): Question => ({
  title,
  seeds: Array.from({ length: 10 }, (_, i) => 11 + i),
  contrasts: contrasts.flat(),
});

/** SeeUPO as its paper has it, beside its code and GRPO. The page with its answers: research/notes/studies/seeupo.md. */
export const seeupo: Study = {
  name: "seeupo",
  title: "SeeUPO as its paper has it, beside its code and GRPO",
  worlds: {
    office: {
      title: "The default office",
      config: {
        environment: "office",
        rollout: { tasksPerStep: 8, groupSize: 8 },
        steps: 10,
        optimizer,
        ...measured,
        evaluation: { tasks: 128, k: 1, during: { every: 2, tasks: 64 } },
      },
      secondsPerRun: 120,
    },
    calculator: {
      title: "The calculator",
      config: {
        model: calculatorModel,
        environment: "calculator",
        rollout: { tasksPerStep: 8, groupSize: 8, maxTokens: 40, maxTurns: 2, concurrency: 48 },
        steps: 12,
        optimizer,
        ...measured,
        engine: {
          threads: 1,
          lora: { rank: 16, alpha: 32, targets: "all-linear" },
          ...{ memory: 1.85, maxLength: 256, sampling: { cacheGib: 0.1 } },
        },
        evaluation: { tasks: 128, k: 1, during: { every: 4, tasks: 64 } },
      },
      secondsPerRun: 420,
    },
  },
  arms: {
    seeupo: { title: "SeeUPO, paper", config: { algorithm: { kind: "seeupo" } } },
    "seeupo-code": { title: "SeeUPO, published code", config: { algorithm: "seeupo-code" } },
    grpo: { title: "GRPO, 1 step", config: { algorithm: "grpo" } },
    "grpo-steps": {
      title: "GRPO, 4 epochs of 3 mini-batches",
      config: { algorithm: { kind: "grpo", epochs: 4, miniBatches: 3 } },
    },
    "grpo-two": { title: "GRPO, 2 mini-batches", config: { algorithm: { kind: "grpo", miniBatches: 2 } } },
    forward: { title: "SeeUPO, paper, first to last", config: { algorithm: { kind: "seeupo", order: "sequential" } } },
    random: { title: "SeeUPO, paper, random order", config: { algorithm: { kind: "seeupo", order: "random" } } },
    group: { title: "SeeUPO, paper, normalised by group", config: { algorithm: { kind: "seeupo", normalisation: "group" } } },
    none: { title: "SeeUPO, paper, not normalised", config: { algorithm: { kind: "seeupo", normalisation: "none" } } },
  },
  questions: {
    "office-rate": question(
      "Office: at one learning rate",
      both("paper − GRPO with one step", office("seeupo"), office("grpo")),
      both("paper − published code", office("seeupo"), office("seeupo-code")),
      both("paper − GRPO with as many steps", office("seeupo"), office("grpo-steps")),
      both("published code − GRPO with one step", office("seeupo-code"), office("grpo")),
      [falls("paper − GRPO with one step", office("grpo")), falls("paper − published code", office("seeupo-code"))],
    ),
    "office-product": question(
      "Office: at one product of rate and steps",
      both("paper − GRPO with one step, equal rate × steps", office("seeupo"), office("grpo", equalProduct)),
    ),
    "office-best": question(
      "Office: each at its best rate",
      both("paper − GRPO with as many steps", office("seeupo"), office("grpo-steps")),
      both("paper − GRPO with one step", office("seeupo"), office("grpo", bestOfGrpo)),
      both("paper − published code", office("seeupo"), office("seeupo-code")),
    ),
    calculator: {
      ...question(
        "Calculator: at one learning rate",
        both("paper − GRPO with one step", calculator("seeupo"), calculator("grpo")),
        both("paper − GRPO with as many steps", calculator("seeupo"), calculator("grpo-two")),
      ),
      seeds: [11, 12, 13],
    },
    order: question(
      "Order and normalisation, with the paper's form",
      both("last to first − first to last", office("seeupo"), office("forward")),
      both("last to first − random", office("seeupo"), office("random")),
      both("normalised by batch − by group", office("seeupo"), office("group")),
      both("normalised by batch − not", office("seeupo"), office("none")),
    ),
  },
};
