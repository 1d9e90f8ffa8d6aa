import "../extensions/engines.ts";

/** `retrograde-rl/evals`: evaluations of other packages as tasks, agents and rewards. */
export type { Evals } from "../extensions/evals/evals.ts";
export { fromPromptfoo, type PromptfooTask } from "../extensions/evals/promptfoo.ts";
export {
  type EvaliteOptions,
  type EvaliteScorer,
  type EvalTask,
  fromEvalite,
  fromMastra,
  type MastraEvals,
  type MastraScorer,
} from "../extensions/evals/scorers.ts";
