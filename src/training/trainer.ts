import { join } from "node:path";
import { needs } from "../algorithms/settings/config.ts";
import { RunError } from "../core/errors.ts";
import type { Engine } from "../engines/engine.ts";
import type { Split } from "../environments/environment.ts";
import { CreditWriter } from "../runs/credits.ts";
import { checkpointSteps, readEvaluation, readEvaluations, readMetrics, readProgress, readSummary } from "../runs/read.ts";
import type { EvaluationRecord, Progress, ScoreSummary, Summary } from "../runs/records.ts";
import { engineStateFolder, finishRun, writeCheckpoint, writeEvaluation, writeStep } from "../runs/write.ts";
import { checkBranching, forkingNotice, toolCallsSpent } from "./branching.ts";
import { requireCapabilities } from "./capabilities.ts";
import { evaluate } from "./evaluate.ts";
import { announceEpisodes, type OnEvent, type TrainingEvent } from "./events.ts";
import { firstPrompt } from "./first-prompt.ts";
import { recordLive } from "./live-recorder.ts";
import { type RolloutSource, rolloutSource } from "./rollout-source.ts";
import { RunControl } from "./run-control.ts";
import { type StepArguments, type StepResult, trainingStep } from "./step.ts";
import { requireWorkingEnvironment } from "./watch/environment-faults.ts";
import { rememberedSteps } from "./watch/rule.ts";
import { announceWarnings, countWarnings, evaluationWarnings, requireNoWarnings, stepWarnings } from "./watch/watch.ts";

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
  const { seed, steps, rollout, evaluation, checkpoint, optimizer } = config;

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
  const evaluateOnce = async (when: EvaluationRecord["when"], step: number, split: Split, tasks: number, k: number) => {
    const known = readEvaluation(folder, { when, step, split });
    const where = `evaluation ${when} training`;
    requireNoWarnings(folder, known?.warnings, where, config.limits.strict);
    if (known !== undefined) return known;
    const onTrajectory = announceEpisodes(onEvent, "evaluate", step, Math.min(tasks, await environment.size(split)) * k);
    const { temperature } = evaluation;
    const options = { when, step, split, tasks, k, temperature, rollout, seed, signal, onTrajectory };
    const { record: measured, trajectories } = await evaluate(engine, chat, environment, options);
    signal?.throwIfAborted();
    requireWorkingEnvironment([{ id: split, trajectories }], environment.name, where);
    const warnings = evaluationWarnings(when, { trajectories, tools, config });
    const record = { ...measured, ...(warnings.length === 0 ? {} : { warnings }) };
    writeEvaluation(folder, record, trajectories);
    onEvent({ type: "evaluated", record });
    announceWarnings(warnings, [], where, onEvent);
    requireNoWarnings(folder, warnings, where, config.limits.strict);
    return record;
  };
  const evaluateEnd = async (when: "before" | "after", step: number) => {
    const { split, tasks, k, challenge } = evaluation;
    return {
      main: tasks === 0 ? null : score(await evaluateOnce(when, step, split, tasks, k)),
      challenge: tasks === 0 || !challenge ? null : score(await evaluateOnce(when, step, "challenge", tasks, k)),
    };
  };

  try {
    const before = await evaluateEnd("before", 0);
    const saved = progress.step === 0 ? undefined : join(engineStateFolder(folder, progress.step), aheadFolder);
    rollouts = await rolloutSource({ ...parts, onEvent }, progress, saved);

    while (progress.step < steps) {
      const { every, split, tasks } = evaluation.during;
      const due = every > 0 && progress.step > 0 && progress.step % every === 0;
      if (due) await evaluateOnce("during", progress.step, split, tasks, 1);

      const step = progress.step + 1;
      if (!(await control.before(step))) throw stopRequested;
      const { learningRate } = optimizer;
      config = { ...config, optimizer: { ...optimizer, learningRate: control.learningRate(step, learningRate) } };
      const taken = await rollouts.take(step, progress.position);
      const result = await trainingStep({ ...parts, config, onEvent }, step, taken, critic);
      const warnings = stepWarnings({ ...result, tools, config, history });
      const record = { ...result.record, ...(warnings.length === 0 ? {} : { warnings }) };
      if (result.credits !== undefined) credits.write(step, result.credits);
      writeStep(folder, record, result.timing, result.trajectories);
      progress = advanced(progress, result);
      versionsOfStep = versions();
      onEvent({ type: "stepped", record, timing: result.timing });
      announceWarnings(warnings, history.at(-1)?.warnings, `step ${step}`, onEvent);
      history = [...history, record].slice(-rememberedSteps);
      await rollouts.stepped(step);

      if (progress.step % checkpoint.every === 0 || progress.step === steps) await saveCheckpoint();
      requireNoWarnings(folder, warnings, `step ${step}`, config.limits.strict);
      signal?.throwIfAborted();
    }

    const after = await evaluateEnd("after", steps);
    const { episodes, toolCalls, sampledTokens, wallSeconds, peakRssMb } = soFar();
    const warnings = countWarnings([...readEvaluations(folder), ...readMetrics(folder)]);
    const summary: Summary = {
      before: before.main,
      after: after.main,
      ...(before.challenge && after.challenge && { challenge: { before: before.challenge, after: after.challenge } }),
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
    onEvent({ type: "interrupted", folder, step: progress.step });
    throw new RunError(folder, "interrupted", { hint: `Its ${progress.step} finished steps are kept: continue with --resume.` });
  } finally {
    await rollouts?.close();
    await credits.flush().catch(() => {}); // its error has ended the run, or hides the reason why it ended
    live.close();
  }
}

/** Thrown where a person has asked the run to stop. */
const stopRequested = Symbol("stop requested");

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

function score({ split, tasks, k, mean, low, high }: EvaluationRecord): ScoreSummary {
  return { split, tasks, k, mean, low, high };
}
