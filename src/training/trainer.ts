import { join } from "node:path";
import { needs } from "../algorithms/settings/questions.ts";
import { RetrogradeError, RunError } from "../core/errors.ts";
import type { Engine } from "../engines/engine.ts";
import { stepWarnings } from "../findings/findings.ts";
import { rememberedSteps } from "../findings/rule.ts";
import { engineStateFolder, writeCheckpoint } from "../runs/checkpoints.ts";
import { CreditWriter } from "../runs/credits.ts";
import { checkpointSteps, readEvaluations, readMetrics, readProgress, readSummary } from "../runs/read.ts";
import type { Progress, StepRecord, Summary } from "../runs/records.ts";
import { finishRun, writeStep } from "../runs/write.ts";
import { checkBranching, forkingNotice, toolCallsSpent } from "./branching.ts";
import { requireCapabilities } from "./capabilities.ts";
import { RunEvaluations } from "./evaluation/run-evaluations.ts";
import type { OnEvent, TrainingEvent } from "./events.ts";
import { firstPrompt } from "./first-prompt.ts";
import { recordLive } from "./live-recorder.ts";
import { type RolloutSource, rolloutSource } from "./rollout-source.ts";
import { RunControl } from "./run-control.ts";
import { type StepArguments, type StepResult, trainingStep } from "./step.ts";
import { type LessonSource, openLessons } from "./supervised/lessons.ts";
import { supervisedStep } from "./supervised/step.ts";
import { announceWarnings, countWarnings, requireNoWarnings } from "./warnings.ts";

export interface TrainArguments extends Omit<StepArguments, "onEvent"> {
  /** From `createRun`, or from `reopenRun`, which takes it back to its newest checkpoint. */
  readonly folder: string;
  readonly onEvent?: OnEvent;
}

/**
 * A run: evaluate, then (sample, update, record) for every step, evaluate again; where rollouts are sampled ahead, they are while earlier steps
 * are made. All randomness derives from the seed and the step, and
 * everything else that a step needs is in the checkpoints, so a run that was killed and reopened writes what it would have written.
 * @param args.engine with the weights that training starts from; a checkpoint's are loaded here
 * @param args.signal ends the run after the step that is being made, or at once while episodes run
 * @throws ConfigError where the engine lacks what the algorithm needs; nothing was written then
 * @throws RunError when interrupted or when the folder cannot be written; finished steps are kept in a checkpoint
 * @throws EngineError where sampler and trainer disagree, or a number is not finite
 */
export async function train({ folder, onEvent: listener = () => {}, ...parts }: TrainArguments): Promise<Summary> {
  const { engine, environment, chat, signal } = parts;
  let { config } = parts;
  const { steps, rollout, checkpoint, optimizer } = config;

  const finished = readSummary(folder);
  if (finished !== undefined) return finished;
  requireCapabilities(config, engine.info);
  const forking = await checkBranching(config, environment);

  const started = performance.now();
  const resumed = await startOrResume(engine, folder, needs(config.algorithm).includes("reference"));
  // A new critic begins as the policy that training starts from; a checkpoint brings its own along.
  const critic = needs(config.algorithm).includes("critic") ? await engine.critic() : undefined;
  let progress = resumed;
  let rollouts: RolloutSource | undefined;
  const left: Promise<void>[] = [];
  const live = recordLive(folder);
  const onEvent = (event: TrainingEvent) => {
    live.onEvent(event);
    listener(event);
  };
  const control = new RunControl(folder, onEvent, signal);
  const credits = new CreditWriter(folder);
  const versions = () => `${engine.weightVersion} and ${critic?.steps}`;
  let versionsOfStep = versions();
  onEvent({ type: "run-started", folder, steps, resumedAt: progress.step });
  if (forking !== undefined) onEvent({ type: "notice", message: forkingNotice(forking) });

  const tools = ((await firstPrompt(environment, rollout.episodeTimeoutMs))?.tools ?? []).map(({ name }) => name);
  let history = readMetrics(folder).slice(-rememberedSteps);

  const soFar = (): Progress => ({
    ...progress,
    wallSeconds: resumed.wallSeconds + (performance.now() - started) / 1000,
    peakRssMb: Math.max(resumed.peakRssMb, process.resourceUsage().maxRSS / 1024),
  });
  const saveCheckpoint = async () => {
    await credits.flush();
    onEvent({ type: "phase", phase: "checkpoint", step: progress.step, total: 1 });
    const saveState = async (into: string) => {
      await engine.saveState(into);
      await rollouts?.saveState(join(into, aheadFolder), progress.step);
    };
    const dropState = (of: string) => engine.dropState(of);
    const path = await writeCheckpoint(folder, soFar(), { saveState, dropState }, checkpoint.keep);
    onEvent({ type: "checkpointed", step: progress.step, folder: path });
  };
  const evaluations = new RunEvaluations({ folder, config, engine, chat, environment, tools, onEvent, signal });

  try {
    const lessons =
      config.algorithm.kind === "sft"
        ? await openLessons({
            environment,
            chat,
            maxLength: engine.info.maxLength,
            data: config.algorithm.data,
            seed: config.seed,
          })
        : undefined;
    await evaluations.before(progress.step);
    const saved = progress.step === 0 ? undefined : join(engineStateFolder(folder, progress.step), aheadFolder);
    if (lessons === undefined) rollouts = await rolloutSource({ ...parts, onEvent }, progress, saved);

    while (progress.step < steps) {
      await evaluations.during(progress.step);
      const step = progress.step + 1;
      if (!(await control.before(step))) throw stopRequested;
      const { learningRate } = optimizer;
      config = { ...config, optimizer: { ...optimizer, learningRate: control.learningRate(step, learningRate) } };
      const args = { ...parts, config, onEvent, onLeft: (settled: Promise<void>) => left.push(settled) };
      const result =
        rollouts === undefined
          ? await supervisedStep(args, step, lessons as LessonSource, progress.position)
          : await trainingStep(args, step, await rollouts.take(step, progress.position), critic);
      const warnings = stepWarnings({ ...result, tools, config, history });
      const record = { ...result.record, ...(warnings.length === 0 ? {} : { warnings }) };
      if (result.credits !== undefined) credits.write(step, result.credits);
      writeStep(folder, record, result.timing, result.trajectories);
      progress = advanced(progress, result);
      versionsOfStep = versions();
      onEvent({ type: "stepped", record, timing: result.timing });
      announceWarnings(warnings, history.at(-1)?.warnings, `step ${step}`, onEvent);
      const rewrites = (records: readonly StepRecord[]) => records.some(({ metrics }) => Number(metrics.historyRewrites) > 0);
      if (rewrites([record]) && !rewrites(history)) onEvent({ type: "notice", message: rewriteNotice(record) });
      history = [...history, record].slice(-rememberedSteps);
      await rollouts?.stepped(step);

      if (progress.step % checkpoint.every === 0 || progress.step === steps) await saveCheckpoint();
      requireNoWarnings(folder, warnings, `step ${step}`, config.limits.strict);
      signal?.throwIfAborted();
    }

    await evaluations.after(steps);
    const { episodes, toolCalls, sampledTokens, wallSeconds, peakRssMb } = soFar();
    const warnings = countWarnings([...readEvaluations(folder), ...readMetrics(folder)]);
    const summary: Summary = {
      ...evaluations.summary(steps),
      ...(warnings === undefined ? {} : { warnings }),
      ...{ steps, episodes, toolCalls, sampledTokens, wallSeconds, peakRssMb },
    };
    await finishRun(folder, summary, (into) => engine.saveModel(into));
    onEvent({ type: "finished", folder, summary });
    return summary;
  } catch (error) {
    // Whatever ended the run, steps that are done stay done, unless an update was broken off half way: then the weights are of no step.
    const saved = checkpointSteps(folder).at(-1) ?? 0;
    // A checkpoint that fails too, as on a full disk, would hide the reason.
    if (progress.step > saved && versions() === versionsOfStep) await saveCheckpoint().catch(() => {});
    if (!signal?.aborted && error !== stopRequested) throw error;
    if (signal?.reason instanceof RetrogradeError) throw signal.reason; // no person has asked for this end
    onEvent({ type: "interrupted", folder, step: progress.step });
    throw new RunError(folder, "interrupted", { hint: `Its ${progress.step} finished steps are kept: continue with --resume.` });
  } finally {
    await rollouts?.close();
    await Promise.all(left); // an engine must not be closed under a pass
    await credits.flush().catch(() => {}); // its error has ended the run, or hides the reason why it ended
    live.close();
  }
}

/** Thrown where a person has asked the run to stop. */
const stopRequested = Symbol("stop requested");

function rewriteNotice({ step, metrics }: StepRecord): string {
  return (
    `The chat template rewrites history: ${metrics.historyRewrites} turns of step ${step} have a context that is not the one before continued ` +
    "(as where earlier reasoning is dropped). They are trained in the context that the model saw; their prompts are computed again."
  );
}

/** Within a checkpoint's engine state: the frozen policies of rollouts that are sampled ahead. */
const aheadFolder = "ahead";

const start: Progress = { step: 0, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };

/** The weights at the start are the reference of the whole run. A checkpoint contains it. */
async function startOrResume(engine: Engine, folder: string, withReference: boolean): Promise<Progress> {
  const step = checkpointSteps(folder).at(-1);
  if (step === undefined) {
    if (withReference) await engine.snapshotReference();
    return start;
  }
  await engine.loadState(engineStateFolder(folder, step));
  return readProgress(folder, step);
}

function advanced(progress: Progress, { tasks, trajectories, timing }: StepResult): Progress {
  return {
    ...progress,
    step: progress.step + 1,
    position: progress.position + tasks,
    episodes: progress.episodes + trajectories.length,
    toolCalls: progress.toolCalls + toolCallsSpent(trajectories),
    sampledTokens: progress.sampledTokens + timing.sampledTokens,
  };
}
