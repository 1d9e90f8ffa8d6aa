import { ConfigError } from "../../../src/core/errors.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import { table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { wrap } from "../../../src/terminal/wrap.ts";
import { resolveConfig } from "../../../src/training/config.ts";
import { loadConfigFile } from "../../../src/training/config-file.ts";
import { type Calibration, calibrations } from "../calibration.ts";
import { type Plan, planStep } from "../estimate.ts";
import { hardwareOf } from "../hardware.ts";
import { assumptions, calibrationRows, planRows } from "../lines.ts";
import { modelShape, parameters } from "../model-shape.ts";
import { type Workload, workloadSchema } from "../workload.ts";

export interface PlanFlags {
  readonly config?: string;
  readonly model?: string;
  readonly gpu?: string;
  readonly gpus?: string;
  readonly gflops?: string;
  readonly json?: boolean;
  readonly calibration?: boolean;
  readonly [flag: string]: unknown;
}

/** Estimates a training step. Nothing is started, loaded or contacted. @throws ConfigError naming the flag that is wrong */
export async function planCommand(flags: PlanFlags, screen: Screen): Promise<void> {
  const write = (lines: readonly string[]) => {
    for (const line of lines) screen.line(line);
  };
  if (flags.calibration) {
    const all: Calibration[] = calibrations();
    if (flags.json) screen.line(JSON.stringify(all, null, 1));
    else write(table(calibrationRows(all)));
    return;
  }
  const { model, work } = await planned(flags);
  const shape = modelShape(model);
  const hardware = hardwareOf(flags.gpu ?? "h100", numberOf("gflops", flags.gflops) ?? 100);
  const plans: Plan[] = gpuCounts(flags.gpus).map((gpus) => planStep(shape, hardware, gpus, work));
  if (flags.json) {
    screen.line(JSON.stringify({ model: shape, hardware, work, plans, assumptions }, null, 1));
    return;
  }
  const size = (parameters(shape) / 1e9).toPrecision(3);
  write([
    `${shape.name}: ${size} billion parameters on ${hardware.name} (${hardware.source}).`,
    ...wrap(workText(work), screen.width),
    "",
    ...table(planRows(plans)),
    "",
    "Assumed:",
    ...assumptions.flatMap((line) => wrap(`- ${line}`, screen.width)),
  ]);
}

/** Returns what a configuration file says, with flags on top. */
async function planned(flags: PlanFlags): Promise<{ model: string; work: Workload }> {
  const given = flagsOf(flags);
  if (flags.config === undefined) return { model: flags.model ?? "Qwen/Qwen3-14B", work: parseFlags(given) };
  const { model, algorithm, rollout, engine } = resolveConfig(await loadConfigFile(flags.config));
  if (engine.kind === "openai")
    throw new ConfigError("engine.kind", engine.kind, {
      expected: "an engine that trains",
      hint: "Chat endpoints are only sampled.",
    });
  const from = {
    algorithm: algorithm.kind.startsWith("seeupo") ? "seeupo" : "grpo",
    tasks: rollout.tasksPerStep,
    group: rollout.groupSize,
    turns: rollout.maxTurns,
    engine: engine.kind === "local" ? "local" : "server",
    rank: engine.kind === "local" ? (engine.lora?.rank ?? 0) : engine.rank,
    kl: "klCoef" in algorithm && algorithm.klCoef > 0,
    ...("miniBatches" in algorithm ? { miniBatches: algorithm.miniBatches } : {}),
  };
  return { model: flags.model ?? model, work: parseFlags({ ...from, ...given }) };
}

/** Errors name flags as they are typed. */
function parseFlags(given: object): Workload {
  try {
    return parseSettings(workloadSchema, given);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { value, expected, hint } = error;
    const flag = `--${error.subject.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new ConfigError(flag, value, { expected, hint, cause: error });
  }
}

const numbers = ["tasks", "group", "turns", "prompt", "action", "observation", "dropped", "longest", "rank"] as const;
const moreNumbers = ["toolSeconds", "miniBatches", "microBatch", "tensorParallel"] as const;

function flagsOf(flags: PlanFlags): object {
  const given: Record<string, unknown> = {};
  for (const name of [...numbers, ...moreNumbers]) {
    const value = numberOf(name, flags[name]);
    if (value !== undefined) given[name] = value;
  }
  for (const name of ["algorithm", "engine", "kl", "offload", "recompute"])
    if (flags[name] !== undefined) given[name] = flags[name];
  return given;
}

function numberOf(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (String(value).trim() !== "" && Number.isFinite(number)) return number;
  throw new ConfigError(`--${name}`, value, { expected: "a number" });
}

function gpuCounts(list = "8"): number[] {
  return list.split(",").map((part) => {
    const count = Number(part);
    if (Number.isInteger(count) && count >= 1 && count <= 100_000) return count;
    throw new ConfigError("--gpus", list, { expected: "whole numbers from 1, such as 8,16,64" });
  });
}

function workText(work: Workload): string {
  const { algorithm, tasks, group, turns, prompt, action, observation, dropped, rank, kl, engine } = work;
  const thoughts = dropped > 0 ? `, of which ${dropped} are dropped from later contexts` : "";
  return (
    `${algorithm} on ${engine === "server" ? "a server" : "the local engine"}: ${tasks} tasks × ${group} rollouts of ${turns} turns; ` +
    `a prompt of ${prompt} tokens, ${action} a turn${thoughts}, ${observation} for an answer; ` +
    `${rank === 0 ? "all weights are trained" : `LoRA of rank ${rank}`}${kl ? ", with a reference" : ""}.`
  );
}
