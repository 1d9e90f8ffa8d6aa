import { randomStream } from "../../src/core/random.ts";
import { short } from "./example-text.ts";
import {
  perTurnIndexGradient,
  type StoppingProblem,
  stoppingBias,
  stoppingGradient,
  trajectoryBaselineGradient,
} from "./stopping-bias.ts";

/** One problem with what its estimators expect; all but the problem are ∂/∂θ_k, one number for each turn. */
export interface StoppingCase {
  readonly name: string;
  readonly problem: StoppingProblem;
  /** ∂J/∂θ. */
  readonly gradient: readonly number[];
  /** With one baseline for each turn index. */
  readonly perTurnIndex: readonly number[];
  /** The closed form of what separates the two. */
  readonly bias: readonly number[];
  /** With one baseline for the whole return. */
  readonly wholeReturn: readonly number[];
}

export interface StoppingFindings {
  readonly cases: readonly StoppingCase[];
  /** Problems of one to four turns, everything uniform: p in [0.05, 0.95), rewards and outcomes in [0, 1). */
  readonly random: {
    readonly problems: number;
    /** How many have a turn in which the estimator with a baseline for each index expects the other sign than ∂J/∂θ. */
    readonly wrongWay: number;
    /** How many of these push towards stopping there. */
    readonly towardsStopping: number;
    /** The most by which the closed form misses the enumerated bias, and the baseline of the whole return misses ∂J/∂θ. */
    readonly closedFormError: number;
    readonly wholeReturnError: number;
  };
}

const examples: readonly (readonly [string, StoppingProblem])[] = [
  ["going on is always right", { goOn: [0.5, 0.5], rewards: [1, 1], outcomes: [0, 0, 0] }],
  ["stopping pays 0.4, going on once earns 1", { goOn: [0.5], rewards: [1], outcomes: [0.4, 0] }],
  ["the end alone is rewarded", { goOn: [0.5, 0.5], rewards: [0, 0], outcomes: [0, 0, 1] }],
];
const randomProblems = 1000;

/** Computes what a baseline for each turn index does to a policy that decides when to stop: verl-project/verl issue 7244. */
export function stoppingFindings(seed: number): StoppingFindings {
  const random = randomStream(seed, "stopping");
  const numbers = (count: number, low: number, high: number) =>
    Array.from({ length: count }, () => low + (high - low) * random.uniform());
  const cases = Array.from({ length: randomProblems }, (_, i) => {
    const turns = 1 + (i % 4);
    const problem = { goOn: numbers(turns, 0.05, 0.95), rewards: numbers(turns, 0, 1), outcomes: numbers(turns + 1, 0, 1) };
    return caseOf(`random ${i}`, problem);
  });
  const wrong = cases.map(({ gradient, perTurnIndex }) =>
    gradient.map((value, k) => (value * perTurnIndex[k] < 0 ? perTurnIndex[k] : 0)),
  );
  return {
    cases: examples.map(([name, problem]) => caseOf(name, problem)),
    random: {
      problems: randomProblems,
      wrongWay: wrong.filter((turns) => turns.some((value) => value !== 0)).length,
      towardsStopping: wrong.filter((turns) => turns.some((value) => value < 0)).length,
      closedFormError: worst(cases, ({ gradient, perTurnIndex, bias }) =>
        perTurnIndex.map((value, k) => value - gradient[k] - bias[k]),
      ),
      wholeReturnError: worst(cases, ({ gradient, wholeReturn }) => wholeReturn.map((value, k) => value - gradient[k])),
    },
  };
}

function caseOf(name: string, problem: StoppingProblem): StoppingCase {
  return {
    name,
    problem,
    gradient: stoppingGradient(problem),
    perTurnIndex: perTurnIndexGradient(problem),
    bias: stoppingBias(problem),
    wholeReturn: trajectoryBaselineGradient(problem),
  };
}

function worst(cases: readonly StoppingCase[], errors: (of: StoppingCase) => readonly number[]): number {
  return Math.max(...cases.flatMap((each) => errors(each).map(Math.abs)));
}

/** A table of the examples, with one line of heading. */
export function stoppingRows({ cases }: StoppingFindings): string[][] {
  const list = (values: readonly number[]) => values.map(short).join(", ");
  return [
    ["problem", "p", "rewards", "outcomes", "∂J/∂θ", "a baseline for each index", "bias", "one for the whole return"],
    ...cases.map(({ name, problem, gradient, perTurnIndex, bias, wholeReturn }) => [
      name,
      ...[problem.goOn, problem.rewards, problem.outcomes, gradient, perTurnIndex, bias, wholeReturn].map(list),
    ]),
  ];
}

/** Returns the results of the random problems in one sentence. */
export function stoppingSentence({ random }: StoppingFindings): string {
  const { problems, wrongWay, towardsStopping, wholeReturnError } = random;
  return (
    `Of ${problems} random problems, a baseline for each index points the wrong way in some turn of ${wrongWay}, in ${towardsStopping} of them towards stopping; ` +
    `one for the whole return is off by at most ${wholeReturnError.toExponential(0)}`
  );
}
