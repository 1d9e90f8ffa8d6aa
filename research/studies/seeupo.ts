import { existsSync } from "node:fs";
import type { StudyDefinition } from "../study/definition.ts";

type Contrast = StudyDefinition["questions"][string]["contrasts"][number];
type Cell = Contrast["more"];
type Question = StudyDefinition["questions"][string];

/** The model that SmolLM2-135M becomes by the demonstrations of the demo's first stage: the form of a call, and no right choice. */
const calculatorModel = "runs/demo-smollm2-calculator-1/form";

/** One optimiser for all arms: rates differ, and nothing else. */
const optimizer = { schedule: "constant", warmupSteps: 0, beta2: 0.95, weightDecay: 0 } as const;

const measured = {
  engine: { threads: 1 },
  record: { credits: false, after: 0 },
  checkpoint: { every: 4, keep: 1 },
} as const;

const paper = { kind: "seeupo" } as const;

/** Learning rates: arms of one step a batch, and of a step for each turn. */
const oneStep = { office: [1e-4, 3e-4, 1e-3, 3e-3] };
const oneRate = { office: [1e-4] };

/** The two co-primaries: the same contrast of greedy attempts, as the published evaluation has them, and of sampled ones. */
function both(title: string, more: Cell, less: Cell, tested = false): Contrast[] {
  const test = tested ? { test: "different" as const } : {};
  return [
    { title, outcome: "greedy", more, less, ...test },
    { title, more, less, ...test },
  ];
}

function question(title: string, ask: string, contrasts: Contrast[], answer = "Not known yet.", seeds = 10): Question {
  return { title, ask, contrasts, primaries: 2, seeds, answer };
}

const answers: Readonly<Record<string, string>> = {
  "office-rate":
    "Yes: 18.4 points above it greedy [10.4, 26.3] and 21.6 sampled [15.1, 28.2]. The published code's form does the same, and so does GRPO with as many optimiser steps.",
  "office-product":
    "Yes: 55.2 points above it greedy [46.4, 64.1] and 31.3 sampled [22.6, 40.1]. One step of GRPO as long as SeeUPO's together ends at 34.5 % greedy, from 22 %.",
  "office-best":
    "No: GRPO with as many optimiser steps ends 12.3 points higher sampled [8.2, 16.4]; greedy SeeUPO is at most 5.4 points above it and at most 5.5 below.",
};

/** `rate` is that of all arms, `product` that of the arm with one step at which rate × steps are equal. */
function officeQuestions(rate: number, product: number): Record<string, Question> {
  const cell = (arm: string, at: number | "best"): Cell => ["office", arm, at];
  const against = (at: number | "best") => [
    ...both("paper − published code", cell("seeupo", at), cell("seeupo-code", at)),
    ...both("paper − GRPO with as many steps", cell("seeupo", at), cell("grpo-steps", at)),
    ...both("published code − GRPO with one step", cell("seeupo-code", at), cell("grpo", at)),
  ];
  const falls = (title: string, less: Cell): Contrast => ({ title, outcome: "fell", more: cell("seeupo", rate), less });
  return {
    "office-rate": question(
      "Office: at one learning rate",
      `Primaries: greedy and sampled success after training, SeeUPO as the paper has it − GRPO with one step a batch, both at ${rate}. So the published comparison is made.`,
      [
        ...both("paper − GRPO with one step", cell("seeupo", rate), cell("grpo", rate), true),
        ...against(rate),
        falls("paper − GRPO with one step", cell("grpo", rate)),
        falls("paper − published code", cell("seeupo-code", rate)),
      ],
      answers["office-rate"],
    ),
    "office-product": question(
      "Office: at one product of rate and steps",
      `Primaries: the same, with GRPO at ${product}: its one step is as long as SeeUPO's steps together.`,
      both("paper − GRPO with one step, equal rate × steps", cell("seeupo", rate), cell("grpo", product), true),
      answers["office-product"],
    ),
    "office-best": question(
      "Office: each at its best rate",
      "Primaries: the same against GRPO with as many optimiser steps, each arm at the rate that its tuning runs chose.",
      [
        ...both("paper − GRPO with as many steps", cell("seeupo", "best"), cell("grpo-steps", "best"), true),
        ...both("paper − GRPO with one step", cell("seeupo", "best"), cell("grpo", "best")),
        ...both("paper − published code", cell("seeupo", "best"), cell("seeupo-code", "best")),
      ],
      answers["office-best"],
    ),
  };
}

const form = (title: string, changes: object) => ({
  title,
  config: { algorithm: { ...paper, ...changes } },
  worlds: ["office"],
  rates: oneRate,
});

const usual: Cell = ["office", "seeupo", 1e-4];

export default {
  title: "SeeUPO as its paper has it, beside its code and GRPO",
  question:
    "Does SeeUPO's Algorithm 1 end above GRPO at one learning rate, at one product of rate and optimiser steps, and each at its best rate? Is the published " +
    "code's form the same? Greedy and sampled success are both primary.",
  about: [
    "Arms have equal episodes, tasks, models, seeds and optimisers; rates are constant. The baseline with as many steps takes as many as SeeUPO makes turn updates. " +
      "Rates are chosen by sampled success on validation tasks, with two tuning seeds that are not reported.",
    "The paper reports greedy success on AppWorld (60.8 and 53.1 %) and on BFCL, 43 to 55 % above baselines with Qwen3-14B and 24 to 42 % with Qwen2.5-14B. Neither model nor " +
      "benchmark was run here.",
    "An earlier study asked this of the form of the published code, which its page called the paper's, in a world whose greedy success is 96.5 % before training (commit eee38ca7). " +
      "Sampled, the code's form ended 31.5 points above GRPO with one step at 1e-4 [26.2, 36.8] (+66 % [50, 88], six seeds). That is the smallest of four rates: +18 % at 3e-4, −96 % at " +
      "9e-4, −100 % at 2.7e-3. By the published, greedy evaluation the same runs differ by −2.2 points [−5.8, 1.4]. At equal rate × steps the difference was −4.5 [−9.8, 0.8] sampled " +
      "and +6.3 [1.6, 10.9] greedy (15 seeds). At each arm's best rate 3 of 15 of its runs fell and none of GRPO's with as many steps: of superior stability nothing was shown. " +
      "With one step a batch the other baselines differ from GRPO in 1 to 16 of 768 attempts.",
    "The default run had a form of ours until commit 1d7e70e4: the code's, with smaller or joined updates of turns that few trajectories reach. Asked after the other runs of the office " +
      "were seen and before any of its own, its tuning runs succeed in 44.1 % on validation tasks, the code's in 44.1, the paper's in 47.7. On test tasks, five seeds, each at its best " +
      "rate, it ends 5.8 points below the paper's sampled [2.5, 9.0]; greedy they differ by 1.7 [−10.1, 6.7]. So it is gone, and that commit has its runs.",
  ],
  page: "research/notes/studies/seeupo.md",
  worlds: {
    office: {
      title: "The default office",
      about: "The world and model of the default run: greedy success is 22 % before training, episodes have about ten turns.",
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
      about:
        "SmolLM2-135M solves word problems with a calculator that it calls: two turns. An adapter of rank 16 is trained; the start knows the form of a call by demonstrations of which most choose wrong.",
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
      rates: [3e-4],
      ...(existsSync(calculatorModel)
        ? {}
        : { pending: "its start model is not made (npx retrograde-rl demo smollm2 --task calculator)." }),
    },
  },
  arms: {
    seeupo: { title: "SeeUPO, paper", config: { algorithm: paper } },
    "seeupo-code": { title: "SeeUPO, published code", config: { algorithm: "seeupo-code" } },
    grpo: { title: "GRPO, 1 step", config: { algorithm: "grpo" }, rates: oneStep },
    "grpo-steps": {
      title: "GRPO, 4 epochs of 3 mini-batches",
      config: { algorithm: { kind: "grpo", epochs: 4, miniBatches: 3 } },
      worlds: ["office"],
    },
    "grpo-two": {
      title: "GRPO, 2 mini-batches",
      config: { algorithm: { kind: "grpo", miniBatches: 2 } },
      worlds: ["calculator"],
    },
    forward: form("SeeUPO, paper, first to last", { order: "sequential" }),
    random: form("SeeUPO, paper, random order", { order: "random" }),
    group: form("SeeUPO, paper, normalised by group", { normalisation: "group" }),
    none: form("SeeUPO, paper, not normalised", { normalisation: "none" }),
  },
  rates: [3e-5, 1e-4, 3e-4, 1e-3],
  tuningSeeds: [101, 102],
  seeds: Array.from({ length: 10 }, (_, i) => 11 + i),
  differences: [
    [
      "model and world",
      "Qwen3-14B and Qwen2.5-14B on AppWorld and BFCL",
      "2 M and 135 M parameters",
      "what two cores can repeat",
    ],
    ["batch", "32 tasks × 8 rollouts, ten turns", "8 × 8", "equal for all arms"],
    ["learning rate", "1e-6, one for all", "a grid, constant", "that one rate serves all arms is what is asked"],
    ["β₂ and weight decay of AdamW", "0.999, 0.01", "0.95, 0", "equal for all arms"],
    ["evaluation", "greedy, four times", "greedy once and sampled once, on unseen tasks", "both are primary"],
    [
      "published code: missing turns, rows of M, groups of one",
      "its last turn, by row, bare return",
      "as the paper",
      "the form is compared, not its faults",
    ],
  ],
  questions: {
    ...officeQuestions(1e-4, 1.3e-3),
    calculator: question(
      "Calculator: at one learning rate",
      "Primaries: greedy and sampled success after training, SeeUPO as the paper has it − GRPO with one step a batch, both at 0.0003.",
      [
        ...both("paper − GRPO with one step", ["calculator", "seeupo", 3e-4], ["calculator", "grpo", 3e-4], true),
        ...both("paper − GRPO with as many steps", ["calculator", "seeupo", 3e-4], ["calculator", "grpo-two", 3e-4]),
      ],
      "Not shown, and the signs are against it: the paper's form ends 8.9 points below GRPO with one step a batch greedy [−28.9, 11.2] and 8.6 sampled [−17.2, 0.0]; below GRPO with as many steps it ends 12.8 points sampled [−20.3, −5.2].",
      3,
    ),
    order: question(
      "Order and normalisation, with the paper's form",
      "In the office at 1e-4. Primaries: greedy and sampled success, last to first − first to last.",
      [
        ...both("last to first − first to last", usual, ["office", "forward", 1e-4], true),
        ...both("last to first − random", usual, ["office", "random", 1e-4]),
        ...both("normalised by batch − by group", usual, ["office", "group", 1e-4]),
        ...both("normalised by batch − not", usual, ["office", "none", 1e-4]),
      ],
      "Not shown: last to first is 2.9 points above first to last greedy [−2.3, 8.1] and 0.3 sampled [−3.9, 4.5]. Normalised by batch it ends 4.4 points above not normalised sampled [0.7, 8.0].",
    ),
  },
  limitations: [
    "The calculator was planned with ten seeds, four rates and all arms. Before any of its runs it was cut to three seeds, one rate and three arms: a run takes seven minutes of a core. So each arm's best rate there is not known.",
    "Four pilot runs of the office at 1e-4 (seeds 1 and 2) were seen before this plan: the paper's form 95.3, 94.5 and 80.5 % greedy, the code's 88.3 and 76.6, GRPO with one step 66.4 and 66.4. Their seeds are not reported.",
    "The steps of the baseline with as many were set by one of them: SeeUPO made 12.8 turn updates a batch, the baseline makes 12. Equal in number is not equal in kind: a mini-batch has all turns of some tasks, a turn update one turn of all.",
    "Two small models and two small worlds: nothing here says what a 14 B model does in AppWorld.",
    "The theorems are of separate policies, exact advantages and exact maxima: no arm is inside them.",
  ],
} satisfies StudyDefinition;
