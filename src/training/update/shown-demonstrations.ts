import { Context } from "../../core/context.ts";
import { present } from "../../core/present.ts";
import { randomStream } from "../../core/random.ts";
import type { ActionInContext, Group, TokenId } from "../../core/trajectory.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Task } from "../../environments/environment.ts";
import { demonstrationOf } from "../sampling/demonstration.ts";
import type { StepArguments } from "../sampling/step-arguments.ts";

/**
 * The policy itself, as a teacher that has read how each task is solved: the ids of the task's demonstration stand before every context, as a
 * conversation that is over. A context that leaves no room for it is scored as it is, and teaches nothing; a warning counts these.
 * @param tasks those of the groups, found by their ids
 * @throws ConfigError or EnvError where a task has no demonstration
 */
export async function shownDemonstrations(
  { engine, environment, chat, config, onEvent }: StepArguments,
  groups: readonly Group[],
  tasks: readonly Task[],
  step: number,
): Promise<Pick<Engine, "logprobs">> {
  const { maxLength } = engine.info;
  const shown = new Map<string, Context>();
  for (const { trajectories } of groups) {
    const [first] = trajectories;
    if (first === undefined || trajectories.every(({ id }) => shown.has(id))) continue;
    const task = present(
      tasks.find(({ id }) => id === first.task),
      "the task of a group",
    );
    const draws = randomStream(config.seed, "shown demonstration", task.id).integer(2 ** 31 - 1);
    const turns = await demonstrationOf({ environment, chat, maxLength }, task, draws);
    const { context, action } = present(turns.at(-1), "a demonstration's last turn");
    const ids = Context.of([...context, ...action]);
    for (const { id } of trajectories) shown.set(id, ids);
  }
  return {
    logprobs: (samples, options) => {
      let unshown = 0;
      const contexts = samples.map((sample): ActionInContext => {
        const demonstration = shown.get(sample.trajectory);
        const ids: readonly TokenId[] = sample.context.slice();
        const length = (demonstration?.length ?? 0) + ids.length + sample.action.length;
        if (demonstration !== undefined && length <= maxLength) return { ...sample, context: demonstration.extend(ids) };
        unshown++;
        return sample;
      });
      if (unshown > 0)
        onEvent({
          type: "warning",
          message: `Step ${step}: ${unshown} of ${samples.length} contexts leave no room for a demonstration (${maxLength} tokens), and teach nothing.`,
        });
      return engine.logprobs(contexts, options);
    },
  };
}
