import { join } from "node:path";
import type { TaskRequest } from "../../src/environments/define.ts";
import { modelFolder, trainingUse } from "../../src/sdk/model.ts";
import type { CodeOptions } from "../../src/sdk/train.ts";
import { count, duration, plural } from "../../src/terminal/format.ts";
import { shownPath } from "../../src/terminal/invocation.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { availableMemory } from "../local/machine/memory-available.ts";
import { gibibytes } from "../local/memory.ts";
import { type ModelConfig, parameterCount } from "../local/model/model-config.ts";
import { readModelConfig } from "../local/model/model-folder.ts";
import { planNow } from "../local/open.ts";
import { measurePeak, otherLoad } from "../local/peak.ts";
import type { AgentRecord } from "./record-agent.ts";
import type { DemonstrationSettings, TaughtPlan } from "./taught-plan.ts";

/** The runs on demonstrations and on rollouts. */
interface Runs {
  readonly supervised: TrainingConfig;
  readonly reinforcement: TrainingConfig;
}

/** The stages of a training with a teacher and what they take, for people. */
export interface Costs {
  readonly lines: readonly string[];
  /** The time, from the conversations that were recorded: their lengths are then known. */
  timeLine(demonstrations: string): string | undefined;
}

export async function costsOf(
  { tasks, teacher, folders }: TaughtPlan<TaskRequest>,
  { k = 1, keep = "reward >= 1" }: DemonstrationSettings,
  { supervised, reinforcement }: Runs,
  onDownload: CodeOptions["onDownload"],
  machine = { measurePeak, otherLoad },
): Promise<Costs> {
  const { rollout, evaluation, algorithm, model, steps, engine } = reinforcement;
  const { demonstrations: shown, reinforcement: trained, test } = tasks;
  const sft = supervised.algorithm.kind === "sft" ? supervised.algorithm.tokensPerStep : 0;
  const attempts = shown.length * k;
  const money = teacher.isScript ? "a script: no tokens, no money" : `its first ${firstAttempts} say what they cost`;
  const measured = Math.min(evaluation.tasks, test.length);
  const sampled = evaluation.temperature === 0 ? 0 : evaluation.k;
  const greedy = sampled === 0 || evaluation.greedy;
  const ways = [...(sampled === 0 ? [] : [plural(sampled, "attempt")]), ...(greedy ? ["a greedy one"] : [])];
  const load = machine.otherLoad();
  // It opens the runtime: one that is missing is refused before a teacher is paid.
  const here =
    engine.kind === "local"
      ? {
          ...{ isAdapter: engine.lora !== undefined, peak: await machine.measurePeak({ threads: engine.threads }) },
          model: await readModelConfig(
            join(await modelFolder(reinforcement, onDownload, trainingUse(reinforcement)), "config.json"),
          ),
          memory: (config: TrainingConfig, model: ModelConfig) =>
            gibibytes(planNow(model, engine, trainingUse(config)).plan.bytes),
        }
      : undefined;
  return {
    lines: [
      `Plan: ${plural(shown.length, "task")} for demonstrations, ${count(trained.length)} for reinforcement, ${count(test.length)} for measuring; no prompt is in two parts`,
      `  record    ${plural(attempts, "attempt")} of ${teacher.name}, ${money}; kept by ${keep}`,
      `  sft       ${plural(supervised.steps, "step")} of about ${count(sft)} tokens, from ${model}`,
      `  ${algorithm.kind.padEnd(9)} ${plural(steps, "step")} of ${plural(rollout.tasksPerStep, "task")} × ${plural(rollout.groupSize, "rollout")}`,
      measured === 0
        ? "  measured  nothing: evaluation.tasks is 0"
        : `  measured  before, after sft and after ${algorithm.kind}: ${plural(measured, "task")}, ${ways.join(" and ")} at each`,
      ...(here === undefined
        ? []
        : [
            `  memory    about ${here.memory(supervised, here.model)} for sft, ${here.memory(reinforcement, here.model)} for ${algorithm.kind}; ${gibibytes(availableMemory())} are free`,
          ]),
      `  folders   ${Object.values(folders).map(shownPath).join(", ")}; the same command continues`,
    ],
    timeLine: (text) => {
      if (here === undefined) return undefined;
      const flops = efficiency * 1e9 * here.peak;
      const { said, whole, shared } = lengthsOf(text);
      const parameters = parameterCount(here.model);
      const [sampling, training] = [2 * parameters, (here.isAdapter ? 4 : 6) * parameters];
      const episode = { sampled: (said * sampling) / flops, trained: (whole * training) / flops };
      const perStep = rollout.tasksPerStep * rollout.groupSize * (episode.sampled + episode.trained);
      const evaluations = 3 * measured * (sampled + Number(greedy)) * episode.sampled;
      const learning = (supervised.steps * computedTokens({ whole, shared }, sft) * training) / flops;
      const when = load === undefined ? "if nothing else runs" : `with ${load}; a quiet machine is faster`;
      return `Time, roughly, ${when}: ${duration(learning)} of sft, ${duration(steps * perStep)} of ${algorithm.kind}, ${duration(evaluations)} of evaluations. It is said again as the runs go.`;
    },
  };
}

/** Attempts at the start whose cost is said before the others are made. */
export const firstAttempts = 2;

/** The cost of all attempts by that of the first; none of a script. */
export function firstLine({ attempts, usage, cost }: AgentRecord<object>, all: number): string | undefined {
  const { requests, promptTokens, completionTokens } = usage;
  if (promptTokens + completionTokens === 0) return undefined;
  const of = (total: number) => count((total / attempts) * all);
  const money =
    cost === undefined ? "; --prices says the money" : `, ${((cost.total / attempts) * all).toFixed(2)} ${cost.currency}`;
  return `By its first ${plural(attempts, "attempt")}, all ${count(all)} take about ${of(requests)} calls, ${of(promptTokens)} prompt and ${of(completionTokens)} completion tokens${money}`;
}

/** The share of a machine's peak that passes reach: SmolLM2-135M's adapters on two cores (docs/performance.md). */
const efficiency = 0.6;
/** English and JSON. */
const charactersPerToken = 4;

/**
 * Returns the tokens that an answer may have where nobody says so: the characters of the longest demonstrated message, about four times its tokens. An
 * untaught model would else write up to the end of its context, in each message of each evaluation.
 */
export function answerLimit(demonstrations: string): number {
  const lengths = demonstrations.split("\n").flatMap((line) => {
    if (line === "") return [];
    const { messages } = JSON.parse(line) as { readonly messages: readonly { readonly role: string }[] };
    return messages.filter(({ role }) => role === "assistant").map((message) => JSON.stringify(message).length);
  });
  return Math.ceil(Math.max(1, ...lengths) / 64) * 64;
}

interface Lengths {
  /** Tokens that the model says. */
  readonly said: number;
  /** Tokens of all but the first messages and tools. */
  readonly whole: number;
  /** Tokens of the first messages and tools, which conversations share. */
  readonly shared: number;
}

/** Mean tokens of a conversation, by its characters. */
export function lengthsOf(demonstrations: string): Lengths {
  const rows = demonstrations.split("\n").filter((line) => line !== "");
  const sum = { said: 0, whole: 0, shared: 0 };
  const size = (some: readonly object[]) => JSON.stringify(some).length / charactersPerToken / rows.length;
  for (const row of rows) {
    const { messages, tools = [] } = JSON.parse(row) as {
      readonly messages: readonly { readonly role: string }[];
      readonly tools?: readonly object[];
    };
    const own = messages.filter(({ role }) => role !== "system");
    sum.said += size(own.filter(({ role }) => role === "assistant"));
    sum.whole += size(own);
    sum.shared += size([...messages.filter(({ role }) => role === "system"), ...tools]);
  }
  return sum;
}

/** Tokens of a step that are computed: what its conversations share is computed once, though each counts it. */
export function computedTokens({ whole, shared }: Omit<Lengths, "said">, tokensPerStep: number): number {
  return shared + Math.ceil(tokensPerStep / Math.max(1, shared + whole)) * whole;
}
