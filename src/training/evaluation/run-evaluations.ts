import { createHash } from "node:crypto";
import type { Chat } from "../../chat/chat.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Environment, Split } from "../../environments/environment.ts";
import { requireWorkingEnvironment } from "../../findings/environment-faults.ts";
import { evaluationWarnings } from "../../findings/findings.ts";
import { tokenActor } from "../../rollouts/actors/token-actor.ts";
import { readEpisodes, readEvaluation } from "../../runs/read.ts";
import type { Decoding, Difference, Differences, EvaluationRecord, ScoreSummary, Summary } from "../../runs/records.ts";
import { writeEvaluation } from "../../runs/write.ts";
import type { PairedComparison } from "../../statistics/paired.ts";
import type { TrainingConfig } from "../config/settings.ts";
import { announceEpisodes, type OnEvent } from "../record/events.ts";
import { announceWarnings, requireNoWarnings } from "../record/warnings.ts";
import { compareOutcomes, type OutcomeComparison, outcomesOf } from "./compare.ts";
import { type DecodingPlan, decodingPlans, evaluate } from "./evaluate.ts";
import { scoreOf } from "./scores.ts";

export interface RunEvaluationsArguments {
  readonly folder: string;
  readonly config: TrainingConfig;
  readonly engine: Engine;
  readonly chat: Chat;
  readonly environment: Environment;
  /** Names of the tools of the environment's first episode. */
  readonly tools: readonly string[];
  /** Digests of what decides the run beside its configuration. */
  readonly madeOf?: Readonly<Record<string, string>>;
  readonly onEvent: OnEvent;
  readonly signal?: AbortSignal;
}

type EvaluationTime = EvaluationRecord["when"];

interface Round {
  readonly when: EvaluationTime;
  readonly step: number;
  readonly split: Split;
  readonly tasks: number;
}

/** The evaluations of a run. Each is written once, and read back by a run that continues. */
export class RunEvaluations {
  readonly #args: RunEvaluationsArguments;

  constructor(args: RunEvaluationsArguments) {
    this.#args = args;
  }

  /**
   * Evaluates at the start, on the main split and, if asked for, on challenge. A run that continues reads what was measured then: its weights are
   * no longer those of the start.
   * @param trained steps that the weights have seen
   */
  async before(trained: number): Promise<void> {
    await this.#end("before", 0, trained > 0);
  }

  /** Evaluates at the end, likewise. */
  async after(steps: number): Promise<void> {
    await this.#end("after", steps);
  }

  /** Evaluates while training, if it is time to. */
  async during(step: number): Promise<void> {
    const { every, split, tasks } = this.#args.config.evaluation.during;
    if (every > 0 && step > 0 && step % every === 0) await this.#round({ when: "during", step, split, tasks }, 1);
  }

  /** Returns what the evaluations at the start and the end say, for the run's summary. */
  summary(steps: number): Pick<Summary, "before" | "after" | "difference" | "challenge"> {
    const { split, tasks, challenge } = this.#args.config.evaluation;
    if (tasks === 0) return { before: null, after: null };
    const main = this.#change(split, steps) ?? { before: null, after: null };
    const second = challenge && split !== "challenge" ? this.#change("challenge", steps) : undefined;
    return { ...main, ...(second !== undefined && { challenge: second }) };
  }

  async #end(when: "before" | "after", step: number, onlyKnown = false): Promise<void> {
    const { tasks, k } = this.#args.config.evaluation;
    if (tasks === 0) return;
    for (const split of this.#splits()) await this.#round({ when, step, split, tasks }, k, onlyKnown);
  }

  #splits(): Split[] {
    const { split, challenge } = this.#args.config.evaluation;
    return challenge && split !== "challenge" ? [split, "challenge"] : [split];
  }

  async #round(round: Round, k: number, onlyKnown = false): Promise<void> {
    const { folder, config } = this.#args;
    const { when, step, split } = round;
    for (const plan of decodingPlans(config.evaluation, k)) {
      const known = readEvaluation(folder, { when, step, split, decoding: plan.decoding });
      requireNoWarnings(folder, known?.warnings, whereOf(when), config.limits.strict);
      if (known === undefined && !onlyKnown) await this.#once(round, plan);
    }
  }

  async #once({ when, step, split, tasks }: Round, { decoding, temperature, k }: DecodingPlan): Promise<void> {
    const { folder, config, engine, chat, environment, tools, onEvent, signal } = this.#args;
    const { rollout, seed, limits } = config;
    const where = whereOf(when);
    const onTrajectory = announceEpisodes(onEvent, "evaluate", step, Math.min(tasks, await environment.size(split)) * k);
    const options = { when, step, split, tasks, k, temperature, rollout, seed, signal, where, onTrajectory };
    const { record: measured, trajectories } = await evaluate(tokenActor(engine, chat), environment, options);
    // What is learned from is sampled: a greedy policy that always fails is no fault of the set-up.
    const warnings =
      decoding === "greedy" && config.evaluation.temperature > 0 ? [] : evaluationWarnings(when, { trajectories, tools, config });
    requireWorkingEnvironment([{ id: split, trajectories }], environment.name, where);
    const madeOf = digestFor(split, this.#args.madeOf);
    const record = { ...measured, ...(madeOf === undefined ? {} : { madeOf }), ...(warnings.length === 0 ? {} : { warnings }) };
    writeEvaluation(folder, record, trajectories);
    onEvent({ type: "evaluated", record });
    announceWarnings(warnings, [], where, onEvent);
    requireNoWarnings(folder, warnings, where, limits.strict);
  }

  #change(
    split: Split,
    steps: number,
  ): { readonly before: ScoreSummary; readonly after: ScoreSummary; readonly difference: Differences } | undefined {
    const { folder, config } = this.#args;
    const plans = decodingPlans(config.evaluation, config.evaluation.k);
    const records = (when: "before" | "after", step: number) =>
      plans.flatMap(({ decoding }) => readEvaluation(folder, { when, step, split, decoding }) ?? []);
    const [before, after] = [records("before", 0), records("after", steps)];
    if (before.length === 0 || after.length === 0) return undefined;
    return {
      before: scoreOf(before),
      after: scoreOf(after),
      difference: differencesOf(folder, before, after, config.seed),
    };
  }
}

function whereOf(when: EvaluationTime): string {
  return `evaluation ${when} training`;
}

/** A digest of the code of a run and of the tasks of a split. */
function digestFor(split: Split, madeOf: RunEvaluationsArguments["madeOf"]): string | undefined {
  if (madeOf === undefined) return undefined;
  const named = Object.entries(madeOf).filter(([name]) => name.startsWith("code ") || name.endsWith(` ${split} tasks`));
  return createHash("sha256")
    .update(JSON.stringify(named.sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex");
}

/** Returns the differences of two moments, from their episodes, for each way of decoding that both have. */
function differencesOf(
  folder: string,
  before: readonly EvaluationRecord[],
  after: readonly EvaluationRecord[],
  seed: number,
): Differences {
  const compared = after.flatMap((late): (Omit<OutcomeComparison, "counts"> & { readonly decoding: Decoding })[] => {
    const early = before.find(({ decoding, split }) => decoding === late.decoding && split === late.split);
    if (early === undefined) return [];
    if (early.madeOf !== undefined && late.madeOf !== undefined && early.madeOf !== late.madeOf) {
      const withheld = "no verdict: tasks, or the code that scores them, have changed between the two evaluations";
      return [{ decoding: late.decoding, withheld }];
    }
    const of = (record: EvaluationRecord) => outcomesOf(readEpisodes(folder, record));
    return [{ decoding: late.decoding, ...compareOutcomes(of(early), of(late), seed, ["the start", "the end"]) }];
  });
  const byDecoding = <T>(of: (comparison: (typeof compared)[number]) => T | undefined) =>
    Object.fromEntries(
      compared.flatMap((comparison) => {
        const value = of(comparison);
        return value === undefined ? [] : [[comparison.decoding, value]];
      }),
    ) as Partial<Record<Decoding, T>>;
  const differences = (what: "success" | "reward") => byDecoding(({ [what]: paired }) => paired && differenceOf(paired));
  const withheld = byDecoding((comparison) => comparison.withheld);
  return {
    ...differences("success"),
    reward: differences("reward"),
    ...(Object.keys(withheld).length === 0 ? {} : { withheld }),
  };
}

function differenceOf({ difference, pValue, exact, better, worse, smallest }: PairedComparison): Difference {
  return { ...difference, pValue, exact, better, worse, smallest };
}
