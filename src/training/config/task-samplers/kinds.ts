import type { z } from "zod";
import { choiceOf, kindIn } from "../../../core/kinds.ts";
import { difficultySampler } from "./difficulty.ts";
import { epochsSampler } from "./epochs.ts";
import type { TaskSamplerKind } from "./sampler.ts";

/** The ways to choose training tasks. A new one is a file and a line here. */
export const taskSamplers = [epochsSampler, difficultySampler] as const;

/** Any of them, named by its kind. */
export const anyTaskSampler = choiceOf(taskSamplers);
export type TaskSampler = z.output<typeof anyTaskSampler>;

/** Returns the sampler that settings name. Its functions take those settings. */
export function taskSamplerOf(config: TaskSampler): TaskSamplerKind {
  return kindIn<TaskSamplerKind>(taskSamplers, config);
}
