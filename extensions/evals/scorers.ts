import { optionsDoor } from "../../src/core/door.ts";
import { mean } from "../../src/core/mean.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import type { AgentFunction } from "../agents/train-agent.ts";
import { type Evals, textOf } from "./evals.ts";

/** A task of evalite or Mastra. */
export interface EvalTask<Input = unknown> extends TaskRequest {
  readonly input: Input;
  readonly expected?: unknown;
}

/** A scorer of evalite, `createScorer` or of autoevals: a function of input, output and what was expected. */
export type EvaliteScorer = (sample: { input: never; output: never; expected: never }) => unknown;

/** An evaluation as evalite's `evalite(name, options)` takes it. */
export interface EvaliteOptions<Input, Output> {
  readonly data: readonly EvaliteCase<Input>[] | (() => readonly EvaliteCase<Input>[] | Promise<readonly EvaliteCase<Input>[]>);
  readonly task: (input: Input) => Output | Promise<Output>;
  readonly scorers?: readonly (EvaliteScorer | { readonly name: string; readonly scorer: EvaliteScorer })[];
}

interface EvaliteCase<Input> {
  readonly input: Input;
  readonly expected?: unknown;
}

/**
 * Takes an evaluation of evalite: its data are tasks, its task is the agent, the mean of its scorers the reward.
 * @example
 * const exact = ({ output, expected }: { output: string; expected: string }) => (output === expected ? 1 : 0);
 * const options = { data: [{ input: "2 + 2?", expected: "4" }], task: async (input: string) => `It is ${input}`, scorers: [exact] };
 * await trainAgent({ ...(await fromEvalite(options)), model: "Qwen/Qwen3-0.6B" }); // evalite("sums", options) in sums.eval.ts
 */
export async function fromEvalite<Input, Output>(options: EvaliteOptions<Input, Output>): Promise<Evals<EvalTask<Input>>> {
  checkEvalite({ ...options });
  const { data, task, scorers = [] } = options;
  const cases = typeof data === "function" ? await data() : data;
  const run = scorers.map((each) => (typeof each === "function" ? each : each.scorer));
  return {
    tasks: cases.map(({ input, expected }) => taskOf(input, expected)),
    agent: (_, { task: { input } }) => task(input),
    reward: ({ task: { input, expected }, answer: output }) => scored(run, { input, output, expected }),
  };
}

/** A scorer of Mastra's `createScorer`. */
export interface MastraScorer {
  readonly id?: string;
  run(sample: never): Promise<{ readonly score?: unknown }>;
}

/** An evaluation as Mastra's `runEvals` takes it. */
export interface MastraEvals<Input> {
  readonly data: readonly { readonly input: Input; readonly groundTruth?: unknown }[];
  readonly scorers: readonly MastraScorer[];
  /** An agent of Mastra, or a function. */
  readonly target: { generate(input: Input): Promise<{ readonly text: string }> } | AgentFunction<EvalTask<Input>>;
}

/**
 * Takes an evaluation of Mastra: its data are tasks, its target is the agent, the mean of its scorers the reward.
 * @example
 * const exact = { run: async ({ output, groundTruth }: { output: string; groundTruth: string }) => ({ score: Number(output === groundTruth) }) };
 * const data = [{ input: "2 + 2?", groundTruth: "4" }];
 * await trainAgent({ ...fromMastra({ data, scorers: [exact], target: async (prompt) => prompt }), model: "Qwen/Qwen3-0.6B" });
 */
export function fromMastra<Input>(evals: MastraEvals<Input>): Evals<EvalTask<Input>> {
  checkMastra({ ...evals });
  const { data, scorers, target } = evals;
  const run = scorers.map((scorer) => async (sample: never) => (await scorer.run(sample)).score);
  return {
    tasks: data.map(({ input, groundTruth }) => taskOf(input, groundTruth)),
    agent: typeof target === "function" ? target : async (_, { task }) => (await target.generate(task.input)).text,
    reward: ({ task: { input, expected }, answer }) => scored(run, { input, output: textOf(answer), groundTruth: expected }),
  };
}

// "columns" of evalite are what its page shows.
const checkEvalite = optionsDoor<EvaliteOptions<unknown, unknown> & { columns?: unknown }>("fromEvalite", {
  ...{ data: true, task: true, scorers: true, columns: true },
});
const checkMastra = optionsDoor<MastraEvals<unknown> & { concurrency?: unknown }>("fromMastra", {
  ...{ data: true, scorers: true, target: true, concurrency: true },
});

function taskOf<Input>(input: Input, expected: unknown): EvalTask<Input> {
  return { prompt: typeof input === "string" ? input : JSON.stringify(input), input, expected };
}

/** The mean of what scorers give: a number, or an object with one. Null, which evalite and autoevals have for no score, is 0. */
async function scored(scorers: readonly ((sample: never) => unknown)[], sample: object): Promise<number> {
  const scores = await Promise.all(
    scorers.map(async (scorer) => {
      const given = await scorer(sample as never);
      return typeof given === "object" && given !== null && "score" in given ? given.score : given;
    }),
  );
  return mean(scores.map((score) => Number(score ?? 0)));
}
