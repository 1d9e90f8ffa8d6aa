import { useEffect, useState } from "preact/hooks";
import { address, ask, type RunDetail, type RunUpdate, type StreamProblem } from "../api.ts";
import { count, duration, mean, percent } from "../format.ts";
import { Nowhere, Problem, StatePill } from "../parts/bits.tsx";
import { link, type Route } from "../router.ts";
import { visible } from "../visible-text.ts";
import { ConfigurationPage } from "./configuration.tsx";
import { OverviewPage } from "./overview.tsx";
import { PairPage } from "./pair.tsx";
import { TrajectoriesPage } from "./trajectories.tsx";
import { TrajectoryPage } from "./trajectory.tsx";
import { TreePage } from "./tree.tsx";
import { WhyPage } from "./why.tsx";

const tabs = [
  ["overview", "Overview"],
  ["trajectories", "Trajectories"],
  ["why", "Why"],
  ["tree", "Trees"],
  ["configuration", "Configuration"],
] as const;

/** A run, which follows its files without a reload. */
export function RunPage({ route }: { readonly route: Route }) {
  const [, id = "", tab = "overview"] = route.parts;
  const { run, problem } = useRun(id);
  useEffect(() => {
    document.title = visible(`${id} · Retrograde`);
  }, [id]);
  if (run === undefined) return problem === undefined ? <p class="muted">Reading the run …</p> : <Problem text={problem} />;
  const { row } = run;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{row.id}</h1>
          <p class="sub">
            <StatePill state={row.state} /> {row.environment} · {row.algorithm} ·{" "}
            {row.model === "default" ? "default model" : row.model} · seed {row.seed}
          </p>
        </div>
      </div>
      <LiveLine run={run} />
      {problem !== undefined && <Problem text={problem} />}
      <nav class="tabs" aria-label="Parts of the run">
        {tabs.map(([name, title]) => (
          <a key={name} href={link(["run", id, name])} aria-current={isCurrent(name, tab) ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {tab === "overview" && <OverviewPage run={run} />}
      {tab === "trajectories" && <TrajectoriesPage run={run} route={route} />}
      {tab === "trajectory" && <TrajectoryPage run={run} route={route} />}
      {tab === "pair" && <PairPage run={run} route={route} />}
      {tab === "why" && <WhyPage run={run} route={route} />}
      {tab === "tree" && <TreePage run={run} route={route} />}
      {tab === "configuration" && <ConfigurationPage run={run} />}
      {![...tabs.map(([name]) => name), "trajectory", "pair"].some((name) => name === tab) && <Nowhere />}
    </>
  );
}

function isCurrent(name: string, tab: string): boolean {
  return name === tab || (name === "trajectories" && (tab === "trajectory" || tab === "pair"));
}

/** Steps whose mean time says what the others will take. */
const recentSteps = 8;

function LiveLine({ run: { live, row, steps, timings } }: { readonly run: RunDetail }) {
  if (live === undefined) return null;
  const perStep = mean(timings.slice(-recentSteps).map(({ rolloutSeconds, updateSeconds }) => rolloutSeconds + updateSeconds));
  const left = perStep * (row.steps - steps.length);
  const last = steps.at(-1)?.metrics.success;
  const phase = live.phase === "rollout" ? "rollouts" : live.phase;
  return (
    <div class="live" role="status">
      <span>
        Now step {live.step} of {row.steps}: {phase}
        {live.total > 1 && ` ${count(live.done)} of ${count(live.total)}`}
        {last !== undefined && last !== null && <span class="muted"> · last success {percent(last)}</span>}
        {left > 0 && <span class="muted"> · about {duration(left)} left</span>}
      </span>
      {live.total > 0 && <progress value={live.done} max={live.total} aria-label="Progress of the phase" />}
    </div>
  );
}

/** The run as it was when the page was opened, and then what its server sends. */
function useRun(id: string): { readonly run?: RunDetail; readonly problem?: string } {
  const [run, setRun] = useState<RunDetail | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  useEffect(() => {
    let events: EventSource | undefined;
    let current = true;
    const load = () =>
      ask<RunDetail>("/api/run", { run: id }).then(
        (value) => {
          if (!current) return;
          setRun(value);
          setProblem(undefined);
          events?.close();
          events = new EventSource(address("/api/run/events", { run: id, steps: value.steps.length }));
          events.onmessage = ({ data }: MessageEvent<string>) => {
            const update = JSON.parse(data) as RunUpdate | StreamProblem;
            if ("problem" in update) return setProblem(update.problem);
            setProblem(undefined);
            if (update.restarted) load();
            else setRun((known) => known && updated(known, update));
          };
          events.onerror = () => setProblem("The dashboard's server does not answer. The page continues when it does.");
          events.onopen = () => setProblem(undefined);
        },
        (error: Error) => current && setProblem(error.message),
      );
    setRun(undefined);
    load();
    return () => {
      current = false;
      events?.close();
    };
  }, [id]);
  return { run, problem };
}

function updated(
  run: RunDetail,
  { row, summary, live, steps, timings, evaluations, messages, creditSteps }: RunUpdate,
): RunDetail {
  const known = run.steps.at(-1)?.step ?? 0;
  const more = steps.filter(({ step }) => step > known);
  const timed = new Set(run.timings.map(({ step }) => step));
  const times = timings.filter(({ step }) => !timed.has(step));
  const unknown = <T,>(items: readonly T[], old: readonly T[]) => {
    const texts = new Set(old.map((one) => JSON.stringify(one)));
    return items.filter((one) => !texts.has(JSON.stringify(one)));
  };
  return {
    ...run,
    live,
    row,
    summary,
    steps: more.length === 0 ? run.steps : [...run.steps, ...more],
    timings: times.length === 0 ? run.timings : [...run.timings, ...times],
    evaluations: [...run.evaluations, ...unknown(evaluations, run.evaluations)],
    messages: [...run.messages, ...unknown(messages, run.messages)],
    creditSteps: [...new Set([...run.creditSteps, ...creditSteps])],
  };
}
