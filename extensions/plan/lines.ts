import type { Calibration } from "./calibration.ts";
import type { Plan } from "./estimate.ts";
import type { Interval } from "./interval.ts";

/** Texts of plans, for a terminal and for documents. */

/** Two or three digits: an estimate has no more. */
function rounded(value: number): string {
  if (value >= 100) return String(Math.round(value / 10) * 10);
  return value >= 10 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(2);
}

export function seconds({ low, high }: Interval): string {
  const [from, to] = [rounded(low), rounded(high)];
  return from === to ? `${from} s` : `${from}–${to} s`;
}

function gigabytes({ low, high }: Interval): string {
  const [from, to] = [(low / 1e9).toFixed(0), (high / 1e9).toFixed(0)];
  return from === to ? `${from} GB` : `${from}–${to} GB`;
}

export function bytes(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toFixed(1)} GB`;
  return `${(value / 1e6).toFixed(value >= 1e7 ? 0 : 1)} MB`;
}

/** One row for each quantity, one column for each plan. */
export function planRows(plans: readonly Plan[]): string[][] {
  const row = (name: string, of: (plan: Plan) => string) => [name, ...plans.map(of)];
  const optional = (interval: Interval | undefined) => (interval === undefined ? "–" : seconds(interval));
  const first = plans[0]?.alternatives;
  return [
    row("GPUs", ({ gpus }) => String(gpus)),
    row("step", ({ time }) => seconds(time.total)),
    row("  sampling", ({ time }) => seconds(time.sampling)),
    row("  forward", ({ time }) => seconds(time.forward)),
    row("  forward and backward", ({ time }) => seconds(time.backward)),
    row("  optimiser", ({ time }) => seconds(time.optimiser)),
    row("  weights to samplers", ({ time }) => seconds(time.transfer)),
    row("  waits for the server", ({ time }) => seconds(time.waits)),
    row("  between phases", ({ time }) => seconds(time.betweenPhases)),
    row("memory of a GPU, training", ({ memory }) => gigabytes(memory.training)),
    row("sampler's weights of a GPU", ({ memory }) => bytes(memory.samplerWeights)),
    row("longest trajectories in a sampler's cache", ({ memory }) => String(memory.sequences)),
    row("fits", ({ memory }) => memory.fits),
    row("requests", ({ traffic }) => String(traffic.requests)),
    row("sent, received", ({ traffic }) => `${bytes(traffic.sentBytes)}, ${bytes(traffic.receivedBytes)}`),
    row("if rollouts run one step ahead", ({ alternatives }) => optional(alternatives.asynchronous?.total)),
    row("  GPUs that sample then", ({ alternatives }) => String(alternatives.asynchronous?.samplingGpus ?? "–")),
    row("if shared prefixes were computed once", ({ alternatives }) => seconds(alternatives.shared.total)),
    row("if every row were computed by itself", ({ alternatives }) => seconds(alternatives.unshared.total)),
    ...(first?.withoutTurnUpdates === undefined
      ? []
      : [
          row("GRPO, one update instead of one for each turn", ({ alternatives }) =>
            optional(alternatives.withoutTurnUpdates?.total),
          ),
          row("SeeUPO's reference procedure", ({ alternatives }) => optional(alternatives.referenceProcedure?.total)),
        ]),
  ];
}

export function calibrationRows(calibrations: readonly Calibration[]): string[][] {
  return [
    ["measured step", "used", "measured", "estimated", "source"],
    ...calibrations.map(({ name, use, source, measured, estimated }) => [
      ...[name, use === "fitted" ? "to choose" : "to check", `${rounded(measured)} s`, seconds(estimated), source],
    ]),
  ];
}

export const assumptions: readonly string[] = [
  "Lengths are means, and all trajectories have the same number of turns; the longest writes 1.2 to 2 times the mean unless --longest says.",
  "GPUs sample first and train then; training is sharded over all of them, and matrix products run at 0.20 to 0.43 of the peak.",
  "Sampling reads weights and caches at 0.40 to 0.75 of the memory's rate, with 1 to 6 ms a token beside; prompts are cached (lower bound) or read by each rollout (upper).",
  "Weights and both moments are 32-bit, 16 bytes a parameter with the gradient; passes and samplers use 16 bits (32 on a CPU).",
  "A request costs 0.07 to 0.3 s beside its work; 2 to 15 s of a step are neither sampling nor training. Waits for tools run beside other trajectories.",
  "Not counted: evaluation, checkpoints, failures, start-up, network between this program and the server.",
];
