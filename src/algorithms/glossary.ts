import { advantageKinds } from "./advantages/kinds.ts";
import { type Glossary, type Metric, type MetricValues, sharedMetrics } from "./metrics.ts";
import { seeupoMetrics } from "./seeupo/metrics.ts";
import { termKinds } from "./terms/kinds.ts";

type MeasuredBy<Row> = Row extends { readonly metrics?: Glossary<infer Measured> } ? Measured : never;
export type UpdateMetric =
  | keyof typeof sharedMetrics
  | keyof typeof seeupoMetrics
  | MeasuredBy<(typeof advantageKinds)[number] | (typeof termKinds)[number]>;
export type UpdateMetrics = { readonly [Name in UpdateMetric]?: number };

/** The glossary of what an update reports, by name. */
export const updateMetrics: Readonly<Record<UpdateMetric, Metric>> = {
  ...sharedMetrics,
  ...Object.assign({}, ...[...advantageKinds, ...termKinds].map(({ metrics }) => metrics)),
  ...seeupoMetrics,
};

/** Folds the metrics of an update's parts into one record, each by the rule of the glossary. */
export class MetricTally {
  readonly #folded = new Map<string, { value: number; count: number }>();

  record(metrics: MetricValues): void {
    for (const [name, value] of Object.entries(metrics)) {
      const folded = this.#folded.get(name);
      if (folded === undefined) this.#folded.set(name, { value, count: 1 });
      else this.#folded.set(name, { value: fold(name as UpdateMetric, folded.value, value), count: folded.count + 1 });
    }
  }

  result(): UpdateMetrics {
    return Object.fromEntries(
      [...this.#folded].map(([name, { value, count }]) => [
        name,
        updateMetrics[name as UpdateMetric].fold === "mean" ? value / count : value,
      ]),
    );
  }
}

function fold(name: UpdateMetric, a: number, b: number): number {
  switch (updateMetrics[name].fold) {
    case "min":
      return Math.min(a, b);
    case "max":
      return Math.max(a, b);
    default:
      return a + b;
  }
}
