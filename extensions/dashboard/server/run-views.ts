import { reasonOf } from "../../../src/core/errors.ts";
import type { StepRecord } from "../../../src/runs/records.ts";
import type { BrokenRun, RunDetail, RunList, RunRow, RunState } from "./api.ts";
import type { RunSource, RunSources } from "./run-source.ts";

/** Returns the state of a run: its process decides, then whether it has a summary. */
export function stateOf(source: RunSource): RunState {
  if (source.summary() !== undefined) return "finished";
  return source.live() === undefined ? "stopped" : "running";
}

export function runList(sources: RunSources): RunList {
  const { sources: found, broken } = sources.list();
  const runs: RunRow[] = [];
  const damaged: BrokenRun[] = [...broken];
  for (const source of found) {
    try {
      runs.push(rowOf(source));
    } catch (error) {
      damaged.push({ id: source.id, folder: source.folder, error: reasonOf(error) });
    }
  }
  return { root: sources.root, runs, broken: damaged };
}

const curvePoints = 60;

export function rowOf(source: RunSource): RunRow {
  const { config, seed, created } = source.record;
  const steps = source.steps();
  const last = steps.at(-1)?.metrics;
  const evaluations = source.evaluations();
  const named = (value: unknown, key: string) =>
    typeof value === "object" && value !== null && key in value ? String((value as Record<string, unknown>)[key]) : "–";
  const split = named(config.evaluation, "split");
  const measured = (measure: string) => evaluations.some((record) => record.measure === measure);
  const measure = measured("reward") && !measured("success") ? "reward" : "success";
  const of = (when: string) => {
    const own = evaluations.filter((record) => record.when === when && record.split === split);
    const record = own.find(({ decoding }) => decoding === "sampled") ?? own.at(0);
    return record === undefined ? null : measure === "reward" ? record.reward.mean : record.mean;
  };
  return {
    id: source.id,
    folder: source.folder,
    created,
    state: stateOf(source),
    environment: named(config.environment, "name"),
    algorithm: named(config.algorithm, "kind"),
    model: String(config.model ?? "default"),
    seed,
    steps: Number(config.steps ?? 0),
    stepsDone: steps.length,
    split,
    measure,
    before: of("before"),
    after: of("after"),
    success: last?.success ?? null,
    reward: last?.reward ?? null,
    curve: curveOf(steps),
    configuration: JSON.stringify(sorted(withoutFree(config))),
    warnings: source.messages().filter(({ level }) => level === "warning").length,
  };
}

/** Settings that do not make another experiment of a run. */
function withoutFree(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { seed: _, out: __, checkpoint: ___, limits: ____, record: _____, engine, ...rest } = config;
  return { ...rest, engine: { ...(engine as object), threads: undefined } };
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

function curveOf(steps: readonly StepRecord[]): (number | null)[] {
  const buckets = Math.min(curvePoints, steps.length);
  return Array.from({ length: buckets }, (_, i) => {
    const [from, to] = [Math.floor((i * steps.length) / buckets), Math.floor(((i + 1) * steps.length) / buckets)];
    const values = steps.slice(from, to).map(({ metrics }) => metrics.success ?? metrics.reward ?? null);
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  });
}

export function runDetail(source: RunSource): RunDetail {
  const { config, version, node, device } = source.record;
  return {
    row: rowOf(source),
    config,
    version,
    node,
    ...(device === undefined ? {} : { device }),
    steps: source.steps(),
    timings: source.timings(),
    evaluations: source.evaluations(),
    summary: source.summary(),
    messages: source.messages(),
    live: source.live(),
    creditSteps: source.creditSteps(),
  };
}
