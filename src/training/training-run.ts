import { join } from "node:path";
import { factsOf } from "../algorithms/algorithms.ts";
import { RetrogradeError, RunError } from "../core/errors.ts";
import type { Engine, EngineCritic } from "../engines/engine.ts";
import { stepWarnings } from "../findings/findings.ts";
import { rememberedSteps } from "../findings/rule.ts";
import { engineStateFolder, writeCheckpoint } from "../runs/checkpoints.ts";
import { CreditWriter } from "../runs/credits.ts";
import { checkpointSteps, readEvaluations, readMetrics, readProgress, readTrajectories } from "../runs/read.ts";
import type { EvaluationRecord, Progress, StepRecord, Summary, Warning } from "../runs/records.ts";
import { finishRun, writeStep } from "../runs/write.ts";
import { firstPrompt } from "./config/first-prompt.ts";
import { RunEvaluations } from "./evaluation/run-evaluations.ts";
import type { OnEvent } from "./record/events.ts";
import { recordLive } from "./record/live-recorder.ts";
import { announceWarnings, countWarnings, requireNoWarnings } from "./record/warnings.ts";
import { toolCallsSpent } from "./sampling/branching.ts";
import { rolloutSource } from "./sampling/rollout-source.ts";
import type { StepArguments } from "./sampling/step-arguments.ts";
import type { RolloutSource } from "./sampling/step-rollouts.ts";
import { type LessonSource, openLessons } from "./supervised/lessons.ts";
import { supervisedStep } from "./supervised/step.ts";
import { type StepResult, trainingStep } from "./update/step.ts";

/** The start of a run, or its newest checkpoint. */
interface Opened {
  readonly progress: Progress;
  readonly critic: EngineCritic | undefined;
  /** Names of the tools that the environment offers. */
  readonly tools: readonly string[];
}

/** One run from its first evaluation to its last, in phases: `begin`, `step` until `done`, `finish`; `ended` and `close` however it ends. */
export class TrainingRun {
  readonly #args: TrainArguments;
  readonly #resumed: Progress;
  readonly #critic: EngineCritic | undefined;
  readonly #tools: readonly string[];
  readonly #started = performance.now();
  readonly #live: ReturnType<typeof recordLive>;
  readonly #onEvent: OnEvent;
  readonly #credits: CreditWriter;
  readonly #evaluations: RunEvaluations;
  /** Updates that were broken off, on their way back to the state before them. */
  readonly #left: Promise<void>[] = [];
  #progress: Progress;
  #rollouts: RolloutSource | undefined;
  #lessons: LessonSource | undefined;
  /** Versions of the weights after the newest finished step. */
  #versions: string;
  #history: readonly StepRecord[];
  #before: readonly EvaluationRecord[] = [];

  private constructor(args: TrainArguments, { progress, critic, tools }: Opened) {
    const { folder, onEvent: listener } = args;
    this.#args = args;
    this.#resumed = progress;
    this.#progress = progress;
    this.#critic = critic;
    this.#tools = tools;
    this.#live = recordLive(folder);
    this.#onEvent = (event) => {
      this.#live.onEvent(event);
      listener?.(event);
    };
    this.#credits = new CreditWriter(folder);
    this.#evaluations = new RunEvaluations({ ...args, tools, onEvent: this.#onEvent });
    this.#versions = this.#currentVersions();
    this.#history = readMetrics(folder).slice(-rememberedSteps);
  }

  /** Opens a run at its newest checkpoint. */
  static async open(args: TrainArguments): Promise<TrainingRun> {
    const { folder, config, engine, environment } = args;
    const needed = factsOf(config.algorithm).capabilities;
    const progress = await startOrResume(engine, folder, needed.includes("reference"));
    // A new critic begins as the policy that training starts from; a checkpoint brings its own along.
    const critic = needed.includes("critic") ? await engine.critic() : undefined;
    const tools = ((await firstPrompt(environment, config.rollout.episodeTimeoutMs))?.tools ?? []).map(({ name }) => name);
    return new TrainingRun(args, { progress, critic, tools });
  }

  /** True once every step is made. */
  get done(): boolean {
    return this.#progress.step >= this.#args.config.steps;
  }

  /** Evaluates before training, and opens what steps learn from: demonstrations, or rollouts. */
  async begin(): Promise<void> {
    const { folder, config, engine, environment, chat } = this.#args;
    const { step } = this.#progress;
    this.#onEvent({ type: "run-started", folder, steps: config.steps, resumedAt: step });
    if (config.algorithm.kind === "sft") {
      const { data } = config.algorithm;
      this.#lessons = await openLessons({ environment, chat, maxLength: engine.info.maxLength, data, seed: config.seed });
    }
    await this.#evaluations.before(step);
    this.#before = readEvaluations(this.#args.folder).filter(({ when }) => when === "before");
    if (this.#lessons !== undefined) return;
    const saved = step === 0 ? undefined : join(engineStateFolder(folder, step), aheadFolder);
    this.#rollouts = await rolloutSource({ ...this.#args, onEvent: this.#onEvent }, this.#progress, saved, (of) =>
      readTrajectories(folder, of),
    );
  }

  /** Makes one step: sample, update, record, and save a checkpoint where one is due. */
  async step(): Promise<void> {
    const { folder, config, signal } = this.#args;
    await this.#evaluations.during(this.#progress.step);
    const step = this.#progress.step + 1;
    const result = await this.#update(step);
    const warnings = this.#record(step, result);
    await this.#rollouts?.stepped(step);
    const { first, every } = config.checkpoint;
    if (step === first || step % every === 0 || this.done) await this.#saveCheckpoint();
    requireNoWarnings(folder, warnings, `step ${step}`, config.limits.strict);
    signal?.throwIfAborted();
  }

  /** Evaluates after training, and writes the model and the summary. */
  async finish(): Promise<Summary> {
    const { folder, config, engine } = this.#args;
    await this.#evaluations.after(config.steps);
    const { episodes, toolCalls, sampledTokens, wallSeconds, peakRssMb } = this.#spent();
    const warnings = countWarnings([...readEvaluations(folder), ...readMetrics(folder)]);
    const summary: Summary = {
      ...this.#evaluations.summary(config.steps),
      ...(warnings === undefined ? {} : { warnings }),
      ...{ steps: config.steps, episodes, toolCalls, sampledTokens, wallSeconds, peakRssMb },
    };
    await finishRun(folder, summary, (into) => engine.saveModel(into));
    this.#onEvent({ type: "finished", folder, summary });
    return summary;
  }

  /** Keeps the steps that are done. @returns the error that the run ends with */
  async ended(error: unknown): Promise<unknown> {
    const { folder, signal } = this.#args;
    const { step } = this.#progress;
    // Whatever ended the run, steps that are done stay done, unless the weights are of no step: those of an update that there was no way back from.
    const saved = checkpointSteps(folder).at(-1) ?? 0;
    if (step > saved) await Promise.all(this.#left);
    // A checkpoint that fails too, as on a full disk, would hide the reason.
    if (step > saved && this.#currentVersions() === this.#versions) await this.#saveCheckpoint().catch(() => {});
    if (!signal?.aborted) return error;
    if (signal.reason instanceof RetrogradeError) return signal.reason; // no person has asked for this end
    this.#onEvent({ type: "interrupted", folder, step });
    return new RunError(folder, "interrupted", { hint: `Its ${step} finished steps are kept: continue with --resume.` });
  }

  async close(): Promise<void> {
    await this.#rollouts?.close();
    await Promise.all(this.#left); // an engine must not be closed under a pass
    await this.#credits.flush().catch(() => {}); // its error has ended the run, or hides the reason why it ended
    this.#live.close();
  }

  /** Samples and updates, or takes demonstrations and updates. */
  async #update(step: number): Promise<StepResult> {
    const { position } = this.#progress;
    const onLeft = (settled: Promise<void>) => this.#left.push(settled);
    const args = { ...this.#args, onEvent: this.#onEvent, onLeft };
    if (this.#lessons !== undefined) return supervisedStep(args, step, this.#lessons, position);
    const groups = await (this.#rollouts as RolloutSource).take(step, position);
    return trainingStep(args, step, groups, this.#critic);
  }

  /** Writes a step that was made, and says what it showed. */
  #record(step: number, result: StepResult): readonly Warning[] {
    const { folder, config } = this.#args;
    const warnings = stepWarnings({ ...result, tools: this.#tools, config, before: this.#before, history: this.#history });
    const record = { ...result.record, ...(warnings.length === 0 ? {} : { warnings }) };
    if (result.credits !== undefined) this.#credits.write(step, result.credits);
    writeStep(folder, record, result.timing, result.trajectories);
    this.#progress = advanced(this.#progress, result);
    this.#versions = this.#currentVersions();
    this.#onEvent({ type: "stepped", record, timing: result.timing });
    announceWarnings(warnings, this.#history.at(-1)?.warnings, `step ${step}`, this.#onEvent);
    if (rewritesHistory([record]) && !rewritesHistory(this.#history))
      this.#onEvent({ type: "notice", message: rewriteNotice(record) });
    this.#history = [...this.#history, record].slice(-rememberedSteps);
    return warnings;
  }

  async #saveCheckpoint(): Promise<void> {
    const { folder, config, engine } = this.#args;
    const { step } = this.#progress;
    await this.#credits.flush();
    this.#onEvent({ type: "phase", phase: "checkpoint", step, total: 1 });
    const saveState = async (into: string) => {
      await engine.saveState(into);
      await this.#rollouts?.saveState(join(into, aheadFolder), step);
    };
    const dropState = (of: string) => engine.dropState(of);
    const path = await writeCheckpoint(folder, this.#spent(), { saveState, dropState }, config.checkpoint.keep);
    this.#onEvent({ type: "checkpointed", step, folder: path });
  }

  #spent(): Progress {
    return {
      ...this.#progress,
      wallSeconds: this.#resumed.wallSeconds + (performance.now() - this.#started) / 1000,
      peakRssMb: Math.max(this.#resumed.peakRssMb, process.resourceUsage().maxRSS / 1024),
    };
  }

  #currentVersions(): string {
    return `${this.#args.engine.weightVersion} and ${this.#critic?.steps}`;
  }
}

function rewritesHistory(records: readonly StepRecord[]): boolean {
  return records.some(({ metrics }) => Number(metrics.historyRewrites) > 0);
}

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

export interface TrainArguments extends Omit<StepArguments, "onEvent"> {
  /** From `createRun`, or from `reopenRun`, which takes it back to its newest checkpoint. */
  readonly folder: string;
  /** Digests of what decides the run beside its configuration. */
  readonly madeOf?: Readonly<Record<string, string>>;
  readonly onEvent?: OnEvent;
}
