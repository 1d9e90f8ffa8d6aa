import { EnvError } from "../../core/errors.ts";
import type { StepArguments } from "../sampling/step-arguments.ts";
import { remoteTiming } from "../update/remote-timing.ts";
import type { StepResult } from "../update/step.ts";
import type { LessonSource } from "./lessons.ts";
import { superviseOnce } from "./sft.ts";

/**
 * One training step on demonstrations.
 * @param step from 1
 * @param position demonstrations that the steps before have taken
 */
export async function supervisedStep(
  { config, engine, onEvent, signal, onLeft }: StepArguments,
  step: number,
  lessons: LessonSource,
  position: number,
): Promise<StepResult> {
  const { optimizer, steps, algorithm } = config;
  const tokensPerStep = algorithm.kind === "sft" ? algorithm.tokensPerStep : 1;
  onEvent({ type: "phase", phase: "update", step, total: 1 });
  const started = performance.now();
  const demonstrated = { engine, demonstrations: lessons.from(position), tokensPerStep, optimizer, signal, onLeft };
  const report = await superviseOnce(demonstrated, step, steps);
  if (report === undefined) throw new EnvError("demonstrations", "none left", { expected: "at least one a step" });
  const { step: _, demonstrations, tokens, actionTokens, ...update } = report;
  const { training, remote } = engine.takeStats();
  const { computedTokens, denseTokens } = training;
  const updateSeconds = (performance.now() - started) / 1000;
  return {
    record: {
      step,
      metrics: { demonstrations, demonstrationTokens: tokens, demonstrationActionTokens: actionTokens, ...update },
    },
    timing: {
      step,
      rolloutSeconds: 0,
      updateSeconds,
      sampledTokens: 0,
      sampledTokensPerSecond: 0,
      trainedTokens: computedTokens,
      trainedTokensPerSecond: computedTokens / updateSeconds,
      denseTokens,
      ...remoteTiming([remote]),
      rssMb: process.memoryUsage.rss() / 2 ** 20,
    },
    tasks: demonstrations,
    trajectories: [],
    trained: [],
  };
}
