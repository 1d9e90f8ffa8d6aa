import { count, duration } from "../../src/cli/format.ts";
import { titleOf } from "./arms.ts";
import { mean } from "./intervals.ts";
import type { RatioRow, Results, RewardGap } from "./results.ts";

/** What came out, as a page of Markdown. */
export function reportLines(results: Results): string[] {
  const { config, seeds, arms, runs, reached, ratios, gaps } = results;
  const { environment, model, rollout, optimizer, steps, evaluation } = config;
  const one = (values: readonly number[]) => (values.length === 0 ? Number.NaN : mean(values));
  const shown = results.targets.filter((target) => reached.some((row) => row.target === target && row.calls.some(isThere)));
  return [
    "# ARPO beside GRPO and DAPO: held-out reward over tool calls",
    "",
    `Environment "${environment.name}", model ${model}; ${steps} steps of ${rollout.tasksPerStep} tasks × ${rollout.groupSize} leaves, ` +
      `learning rate ${optimizer.learningRate}, ${optimizer.schedule}; seeds ${seeds.join(", ")}. ` +
      `Evaluated on ${evaluation.tasks} ${evaluation.split} tasks, one attempt each, before, after and every ${evaluation.during.every} steps.`,
    "",
    "Tool calls are those of training: calls that leaves share count once, calls that a fork repeats count again, groups that dynamic sampling drops count too.",
    "",
    "| arm | reward at the end, by seed | tool calls | calls a leaf | tokens in updates: computed / all | time of training |",
    "|---|---|---|---|---|---|",
    ...arms.map((arm) => {
      const own = runs.filter((run) => run.arm === arm);
      const calls = own.map(({ points }) => points[points.length - 1].calls);
      const ends = own.map(({ points }) => mean(points[points.length - 1].rewards).toFixed(3));
      return row([
        titleOf(arm),
        ends.join(", "),
        count(one(calls)),
        (one(calls) / one(own.map(({ episodes }) => episodes))).toFixed(2),
        `${count(one(own.map(({ uniqueTokens }) => uniqueTokens)))} / ${count(one(own.map(({ totalTokens }) => totalTokens)))}`,
        duration(one(own.map(({ trainingSeconds }) => trainingSeconds))),
      ]);
    }),
    "",
    "## Tool calls until a reward is first reached, by seed",
    "",
    "On straight lines between evaluations; – where a run never gets there.",
    "",
    row(["reward", ...arms.map(titleOf)]),
    row(["---", ...arms.map(() => "---")]),
    ...shown.map((target) =>
      row([
        String(target),
        ...arms.map((arm) => callsOf(reached.find((r) => r.arm === arm && r.target === target)?.calls ?? [])),
      ]),
    ),
    "",
    "## Ratios of these calls",
    "",
    "Geometric mean over the seeds in which both get there; below 1 needs fewer calls. < and > are bounds: only one of the two got there, the other would have " +
      "needed more than it spent. 95 % intervals: bootstrap over seeds and tasks; Student's t over seeds alone. The aim is 0.5. A bootstrap over three seeds is too narrow, t with two degrees of freedom is wide.",
    "",
    "| arm / base | reward | by seed | ratio | bootstrap | t | with smoothed evaluations |",
    "|---|---|---|---|---|---|---|",
    ...ratios.filter(({ ratios: each }) => each.some((ratio) => ratio !== null)).map(ratioRow),
    "",
    "## The same reward with half of the calls?",
    "",
    "Reward of the arm at a share of the calls, less that of the base at all of them (as many as both sides' runs allow), paired by seed. At 1/2, not below 0 is the aim.",
    "",
    "| arm − base | share of the calls | by seed | gap | bootstrap | t |",
    "|---|---|---|---|---|---|",
    ...gaps.map(gapRow),
  ];
}

function ratioRow({ target, arm, base, ratios, ratio, t, smoothed }: RatioRow): string {
  return row([
    `${titleOf(arm)} / ${titleOf(base)}`,
    String(target),
    ratios.map((each) => (each === null ? "–" : `${each.is === "=" ? "" : each.is}${each.ratio.toFixed(2)}`)).join(", "),
    ratio?.value.toFixed(2) ?? "–",
    ratio === null ? "–" : range(ratio),
    t === null ? "–" : range(t),
    smoothed?.toFixed(2) ?? "–",
  ]);
}

function gapRow({ arm, base, share, gaps, gap, t }: RewardGap): string {
  return row([
    `${titleOf(arm)} − ${titleOf(base)}`,
    String(share),
    gaps.map((each) => each.toFixed(3)).join(", "),
    gap?.value.toFixed(3) ?? "–",
    gap === null ? "–" : range(gap, 3),
    t === null ? "–" : range(t, 3),
  ]);
}

function callsOf(calls: readonly (number | null)[]): string {
  return calls.map((each) => (each === null ? "–" : count(each))).join("; ");
}

function range({ low, high }: { readonly low: number; readonly high: number }, digits = 2): string {
  return `[${low.toFixed(digits)}, ${high.toFixed(digits)}]`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function isThere(value: number | null): value is number {
  return value !== null;
}
