import { reasonOf } from "../../../src/core/errors.ts";
import { shrink } from "../../../src/terminal/format.ts";
import type { BrokenRun, RunDetail, RunList, RunRow, RunState } from "./api.ts";
import type { RunSource, RunSources } from "./run-source.ts";

/** Returns the state of a run: its process decides, then whether it has a summary. */
function stateOf(source: RunSource): RunState {
  if (source.summary() !== undefined) return "finished";
  return source.live() === undefined ? "stopped" : "running";
}

/** The newest first. A damaged run is listed with what is wrong and harms no other. */
export function runList(sources: RunSources): RunList {
  const runs: RunRow[] = [];
  const broken: BrokenRun[] = [];
  for (const id of sources.ids()) {
    try {
      runs.push(rowOf(sources.open(id)));
    } catch (error) {
      broken.push({ id, folder: sources.folder(id), error: reasonOf(error) });
    }
  }
  return { root: sources.root, runs: runs.sort((a, b) => b.created.localeCompare(a.created)), broken };
}

const curvePoints = 60;

export function rowOf(source: RunSource): RunRow {
  const { config, seed, created } = source.record;
  const steps = source.steps();
  const evaluations = source.evaluations();
  const named = (value: unknown, key: string) =>
    typeof value === "object" && value !== null && key in value ? String((value as Record<string, unknown>)[key]) : "–";
  const split = named(config.evaluation, "split");
  const measured = (measure: string) => evaluations.some((record) => record.measure === measure);
  const measure = measured("reward") && !measured("success") ? "reward" : "success";
  const of = (when: string) => {
    // Sampled attempts are before greedy ones.
    const record = evaluations.find((each) => each.when === when && each.split === split);
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
    curve: shrink(
      steps.map(({ metrics }) => metrics.success ?? metrics.reward ?? null),
      curvePoints,
    ),
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
