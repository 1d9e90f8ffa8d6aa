import { useMemo, useState } from "preact/hooks";
import { causeOf } from "../../../src/findings/cause.ts";
import type { RunDetail } from "../api.ts";
import { count, duration, number, percent } from "../format.ts";
import { Stat } from "../parts/bits.tsx";
import { Chart, type Series, Smoothing } from "../parts/chart.tsx";
import { EvaluationStats, evaluationPoints } from "../parts/evaluations.tsx";
import { Notes } from "../parts/remarks.tsx";
import { link } from "../router.ts";

type Warning = NonNullable<RunDetail["steps"][number]["warnings"]>[number];
type Values = (number | null)[];

/** What a run did, step by step. */
export function OverviewPage({ run }: { readonly run: RunDetail }) {
  const { steps, timings, evaluations, summary, row } = run;
  const [smoothing, setSmoothing] = useState(0.5);
  const x = useMemo(() => steps.map(({ step }) => step), [steps]);
  const names = useMemo(() => [...new Set(steps.flatMap(({ metrics }) => Object.keys(metrics)))], [steps]);
  const column = (name: string): Values => steps.map(({ metrics }) => metrics[name] ?? null);
  /** Metrics that have a curve of their own. */
  const shown = new Set<string>();
  const drawnColumn = (name: string): Values => {
    shown.add(name);
    return column(name);
  };
  const timing = (value: (record: (typeof timings)[number]) => number): Values => {
    const byStep = new Map(timings.map((record) => [record.step, value(record)]));
    return x.map((step) => byStep.get(step) ?? null);
  };
  const lines = (...wanted: readonly (readonly [name: string, label: string, colour: string])[]): Series[] =>
    wanted
      .filter(([name]) => names.includes(name))
      .map(([name, label, colour]) => ({ label, colour, values: drawnColumn(name) }));
  const band = (low: string, high: string, label: string, colour: string): Series[] =>
    names.includes(low)
      ? [
          { label: `${label} highest`, values: drawnColumn(high), colour, exact: true, bandTo: `${label} lowest` },
          { label: `${label} lowest`, values: drawnColumn(low), colour, exact: true },
        ]
      : [];
  // Evaluations begin before the first step.
  const fromStart = useMemo(() => (evaluations.some(({ step }) => step === 0) ? [0, ...x] : x), [evaluations, x]);
  const last = steps.at(-1)?.metrics ?? {};
  const parts = names.filter((name) => name.startsWith("score/reward:")).slice(0, 5);
  const captured = [
    ["contexts", "s1"],
    ["branches", "s2"],
    ["compactions", "s3"],
    ["subagents", "s4"],
    ["auxiliary", "s5"],
    ["tokenCounts", "s7"],
    ["refused", "s6"],
  ].map(([name, colour]) => [`score/agent.${name}`, name, colour] as const);

  const panels: { title: string; hint?: string; steps?: readonly number[]; series: Series[]; fromZero?: boolean }[] = [
    {
      title: "Success",
      hint: "Share of training episodes that succeeded; dots are evaluations",
      steps: fromStart,
      series: [
        ...lines(["success", "training", "s1"]).map((line) => ({
          ...line,
          values: fromStart === x ? line.values : [null, ...line.values],
        })),
        ...evaluationPoints(run, fromStart),
      ],
      fromZero: true,
    },
    {
      title: "Reward",
      hint: "Mean over the step's episodes, and its parts",
      series: [
        ...lines(["reward", "reward", "s2"]),
        ...lines(...parts.map((name, i) => [name, name.slice(13), `s${i + 3}`] as const)),
      ],
    },
    {
      title: "Entropy, nats",
      hint: "Of the distribution that each action token was drawn from",
      series: lines(["entropy", "entropy", "s4"]),
      fromZero: true,
    },
    {
      title: "KL, nats",
      hint: "kl: to the reference; moved: by the steps of an update",
      series: lines(["kl", "to the reference", "s5"], ["approxKl", "moved", "s6"]),
    },
    {
      title: "Clip fraction",
      hint: "Share of tokens without a gradient, because their ratio left the range",
      series: lines(["clipFraction", "clipped", "s6"], ["dualClipFraction", "dual clip", "s3"]),
      fromZero: true,
    },
    {
      title: "M, SeeUPO's carried ratio",
      hint: "Smallest and largest M / Â: what multiplied an advantage",
      series: band("carriedMin", "carriedMax", "M", "s2"),
    },
    {
      title: "Ratio π/π_old",
      hint: "At the moment of the gradient",
      series: [...band("ratioMin", "ratioMax", "ratio", "s1"), ...lines(["ratioMean", "ratio", "s1"])],
    },
    {
      title: "Turn ratio r",
      hint: "What multiplies M, not yet clipped",
      series: [...band("turnRatioMin", "turnRatioMax", "r", "s7"), ...lines(["turnRatioMean", "r", "s7"])],
    },
    {
      title: "Sampler–trainer gap, nats",
      hint: "Between the log-probs of the sampler and the trainer for the same tokens",
      series: lines(["samplerGapMax", "largest", "s6"], ["samplerGapMean", "mean", "s1"]),
    },
    { title: "Tokens that the gap has seen", series: lines(["samplerGapTokens", "tokens", "s5"]), fromZero: true },
    {
      title: "Gradient norm",
      series: lines(["gradientNorm", "mean", "s1"], ["gradientNormMax", "largest", "s3"]),
      fromZero: true,
    },
    { title: "Learning rate", series: lines(["learningRate", "learning rate", "s7"]), fromZero: true },
    {
      title: "Groups without signal",
      hint: "Groups whose returns are all equal",
      series: lines(["groupsWithoutSignal", "without signal", "s6"], ["groups", "groups", "s8"]),
      fromZero: true,
    },
    {
      title: "Tokens per second",
      series: [
        { label: "sampled", values: timing((t) => t.sampledTokensPerSecond), colour: "s2" },
        { label: "trained", values: timing((t) => t.trainedTokensPerSecond), colour: "s1" },
      ],
      fromZero: true,
    },
    {
      title: "Seconds of a step, stacked",
      hint: "Rollouts, rewards, update",
      series: stacked([
        ["rollouts", timing((t) => t.rolloutSeconds), "s2"],
        ["rewards", timing((t) => t.rewardSeconds ?? 0), "s3"],
        ["update", timing((t) => t.updateSeconds), "s1"],
      ]),
      fromZero: true,
    },
    { title: "Turns of an episode", series: lines(["turns", "turns", "s5"]) },
    { title: "Sampled tokens of an episode", series: lines(["actionTokens", "tokens", "s4"]) },
    {
      title: "Conversations of an agent",
      hint: "Of an episode: those that begin, requests that fork one, and what is distinguished",
      series: lines(...captured),
      fromZero: true,
    },
    { title: "Tool calls", series: lines(["toolCalls", "made", "s2"], ["invalidToolCalls", "invalid", "s6"]), fromZero: true },
  ];
  const others = names.filter((name) => !shown.has(name) && name !== "score/success");
  const scores = others.filter((name) => name.startsWith("score/"));
  const rest = others.filter((name) => !scores.includes(name) && moves(column(name)));
  const more = (summary: string, metrics: readonly string[], colour: string, titleOf: (name: string) => string) =>
    metrics.length > 0 && (
      <details>
        <summary>
          {summary} ({metrics.length})
        </summary>
        <div class="charts">
          {metrics.map((name) => {
            const series = [{ label: name, values: column(name), colour }];
            return <Chart key={name} title={titleOf(name)} x={x} series={series} smoothing={smoothing} height={120} />;
          })}
        </div>
      </details>
    );

  return (
    <>
      <div class="stats">
        <Stat label="Step" value={`${count(row.stepsDone)} / ${count(row.steps)}`} />
        <Stat label="Success, training" value={percent(last.success)} note={`first step ${percent(steps[0]?.metrics.success)}`} />
        <EvaluationStats run={run} />
        <Stat label="Reward" value={number(last.reward)} />
        <Stat label="Entropy" value={number(last.entropy)} note="nats" />
        {summary !== undefined && (
          <Stat label="Time" value={duration(summary.wallSeconds)} note={`${count(summary.episodes)} episodes`} />
        )}
      </div>
      <Notices run={run} />
      {steps.length === 0 ? (
        <p class="empty">No step is done yet. Curves appear here with the first one.</p>
      ) : (
        <>
          <div class="tools">
            <h2>Curves</h2>
            <Smoothing value={smoothing} onChange={setSmoothing} />
          </div>
          <div class="charts">
            {panels
              .filter(({ series }) => series.some(({ values }) => values.some((value) => value !== null)))
              .map(({ title, steps: at = x, ...panel }) => (
                <Chart key={title} title={title} x={at} smoothing={smoothing} {...panel} />
              ))}
          </div>
          {more("Scores that the environment names", scores, "s2", (name) => name.slice(6))}
          {more("Every other metric that moved", rest, "s8", (name) => name)}
        </>
      )}
      <Notes run={row.id} />
    </>
  );
}

function Notices({ run }: { readonly run: RunDetail }) {
  const { messages, row } = run;
  const rules = namedWarnings(run);
  // A named warning is a message too, which begins with the name and the place.
  const warnings = messages.filter(
    ({ level, message }) => level === "warning" && !rules.some(({ rule }) => message.startsWith(`${rule} (`)),
  );
  if (rules.length + warnings.length === 0) return null;
  return (
    <section class="notices" aria-label="Warnings">
      {rules.map(({ rule, cause, next, example, where, since, records }) => (
        <article key={rule} class="notice">
          <b>{cause}</b>
          <p>
            {next} {example !== undefined && <a href={link(["run", row.id, "trajectory"], { id: example })}>See {example}</a>}
          </p>
          <p class="muted">
            {rule} · {records > 1 ? `since ${since}, ${records} times, last in ${where}` : `in ${where}`}
          </p>
        </article>
      ))}
      {warnings.slice(-6).map(({ message, step, at }) => (
        <article key={at + message} class="notice">
          <b>{message}</b>
          <p class="muted">step {step}</p>
        </article>
      ))}
    </section>
  );
}

interface NamedWarning extends Warning {
  /** The newest record that has it. */
  readonly where: string;
  /** The oldest record with a warning of this cause. */
  readonly since: string;
  readonly records: number;
}

/** The warnings of all steps and evaluations: one for each cause, as its newest record has it. */
function namedWarnings({ steps, evaluations }: RunDetail): NamedWarning[] {
  const found = new Map<string, NamedWarning>();
  const add = (warnings: readonly Warning[] = [], where: string) => {
    for (const warning of warnings) {
      const cause = causeOf(warning.rule);
      const { since = where, records = 0 } = found.get(cause) ?? {};
      found.set(cause, { ...warning, where, since, records: records + 1 });
    }
  };
  for (const { warnings, when } of evaluations) if (when === "before") add(warnings, "the evaluation before training");
  for (const { warnings, step } of steps) add(warnings, `step ${step}`);
  for (const { warnings, when, step } of evaluations) if (when !== "before") add(warnings, `the evaluation after step ${step}`);
  return [...found.values()];
}

/** Areas on top of each other: each line is the sum of those up to it. */
function stacked(parts: readonly (readonly [string, Values, string])[]): Series[] {
  const given = parts.filter(([, values]) => values.some((value) => value !== null && value > 0));
  let below: Values = [];
  return given.map(([label, values, colour]) => {
    below = values.map((value, i) => (value === null ? null : value + (below[i] ?? 0)));
    return { label, values: below, colour };
  });
}

function moves(values: Values): boolean {
  return new Set(values.filter((value) => value !== null)).size > 1;
}
