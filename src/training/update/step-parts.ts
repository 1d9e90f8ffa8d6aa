import type { StepParts } from "../../algorithms/advantages/advantage.ts";
import { Context } from "../../core/context.ts";
import { present } from "../../core/present.ts";
import { randomStream } from "../../core/random.ts";
import { demonstrationOf } from "../sampling/demonstration.ts";
import type { Sampled } from "../sampling/sampling.ts";
import type { StepArguments } from "../sampling/step-arguments.ts";

/** The parts of a training step that an advantage may use before the update. */
export function stepParts(
  { engine, otherModel, environment, chat, config, onEvent }: StepArguments,
  { trained, chosen }: Pick<Sampled, "trained" | "chosen">,
  step: number,
): StepParts {
  const { maxLength } = engine.info;
  const { temperature } = config.rollout;
  const shown = new Map<string, Promise<Context>>();
  const demonstrated = async (id: string): Promise<Context> => {
    const task = present(
      chosen.find((each) => each.id === id),
      "the task of a group",
    );
    const draws = randomStream(config.seed, "shown demonstration", id).integer(2 ** 31 - 1);
    const turns = await demonstrationOf({ environment, chat, maxLength }, task, draws);
    const { context, action } = present(turns.at(-1), "a demonstration's last turn");
    return Context.of([...context, ...action]);
  };
  return {
    groups: trained,
    maxLength,
    scores: (samples) => engine.logprobs(samples, { temperature }),
    ...(otherModel && { modelScores: (samples) => otherModel.logprobs(samples, { temperature }) }),
    demonstration: (task) => {
      const known = shown.get(task) ?? demonstrated(task);
      shown.set(task, known);
      return known;
    },
    warn: (message) => onEvent({ type: "warning", message: `Step ${step}: ${message}` }),
  };
}
