import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, type RunDetail, type RunList, type RunRow } from "../api.ts";
import { ago, mean, scoreText, variance } from "../format.ts";
import { Choice, Columns, Empty, Problem, plainly, Scroll, StatePill } from "../parts/bits.tsx";
import { Chart, type Series, Smoothing, Sparkline } from "../parts/chart.tsx";
import { link } from "../router.ts";
import { seriesColours } from "../theme.ts";

const everyMs = 2000;

/** All runs of a folder, and the curves of those that are ticked. */
export function RunsPage() {
  const [list, setList] = useState<RunList | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [ticked, setTicked] = useState<readonly string[]>([]);
  useEffect(() => {
    let current = true;
    const look = () =>
      ask<RunList>("/api/runs").then(
        (value) => {
          if (!current) return;
          setList(value);
          setProblem(undefined);
        },
        (error: Error) => current && setProblem(error.message),
      );
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, []);
  useEffect(() => {
    document.title = "Runs · Retrograde";
  }, []);
  if (list === undefined) return problem === undefined ? <p class="muted">Reading runs …</p> : <Problem text={problem} />;
  const toggle = (id: string) => setTicked((known) => (known.includes(id) ? known.filter((one) => one !== id) : [...known, id]));
  return (
    <>
      <div class="page-head">
        <h1>Runs</h1>
        <span class="muted path">{list.root}</span>
      </div>
      {problem !== undefined && <Problem text={problem} />}
      {list.broken.map(({ id, error }) => (
        <Problem key={id} text={`${id}: ${error}`} />
      ))}
      {list.runs.length === 0 ? (
        <Empty>
          There is no run here yet. Start one: <code>retrograde-rl train</code>
        </Empty>
      ) : (
        <Scroll label="List of runs">
          <table>
            <Columns
              names={[
                { hidden: "Show curves" },
                "Run",
                "State",
                "World",
                "Algorithm",
                { number: "Steps" },
                "Success",
                { number: "Before" },
                { number: "After" },
                { number: "Started" },
              ]}
            />
            <tbody>
              {list.runs.map((run) => (
                <tr key={run.id}>
                  <td>
                    <input
                      type="checkbox"
                      checked={ticked.includes(run.id)}
                      onChange={() => toggle(run.id)}
                      aria-label={`Show the curves of ${run.id}`}
                    />
                  </td>
                  <td>
                    <a class="run-name" href={link(["run", run.id])}>
                      {run.id}
                    </a>
                    {run.warnings > 0 && (
                      <span class="warn-count" title={`${run.warnings} warnings`}>
                        ⚠ {run.warnings}
                      </span>
                    )}
                  </td>
                  <td>
                    <StatePill state={run.state} />
                  </td>
                  <td>{run.environment}</td>
                  <td>{run.algorithm}</td>
                  <td class="n">
                    {run.stepsDone}
                    <span class="muted">/{run.steps}</span>
                  </td>
                  <td>
                    <Sparkline values={run.curve} />
                  </td>
                  <td class="n">{scoreText(run.before, run)}</td>
                  <td class="n strong">{scoreText(run.after, run)}</td>
                  <td class="n muted">{ago(run.created)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      <Overlay runs={list.runs.filter(({ id }) => ticked.includes(id))} />
    </>
  );
}

const usualMetrics = ["success", "reward", "entropy", "gradientNorm", "turns", "actionTokens", "samplerGapMax"];

function Overlay({ runs }: { readonly runs: readonly RunRow[] }) {
  const [details, setDetails] = useState<ReadonlyMap<string, RunDetail>>(new Map());
  const [chosen, setChosen] = useState<readonly string[]>(["success"]);
  const [smoothing, setSmoothing] = useState(0.6);
  const [bySeed, setBySeed] = useState(true);
  const key = runs.map(({ id, stepsDone }) => `${id}:${stepsDone}`).join();
  useEffect(() => {
    Promise.all(runs.map(async ({ id }) => [id, await ask<RunDetail>("/api/run", { run: id })] as const)).then(
      (all) => setDetails(new Map(all)),
      () => {},
    );
  }, [key]);
  const shown = runs.flatMap(({ id }) => details.get(id) ?? []);
  const metrics = useMemo(
    () => [...new Set(shown.flatMap(({ steps }) => Object.keys(steps[0]?.metrics ?? {})))].sort(),
    [key, details],
  );
  if (runs.length === 0)
    return <p class="muted below">Tick runs to lay their curves over one another, with seeds joined to mean and interval.</p>;
  const x = Array.from({ length: Math.max(0, ...shown.map(({ steps }) => steps.length)) }, (_, i) => i + 1);
  const groups = bySeed ? grouped(shown) : shown.map((run) => ({ label: run.row.id, runs: [run] }));
  const series = (metric: string) =>
    groups.flatMap(({ label, runs: members }, i) => curves(label, members, metric, x, seriesColours[i % seriesColours.length]));
  const left = [...new Set([...usualMetrics, ...metrics])].filter((name) => !chosen.includes(name));
  const differences = differing(shown);
  return (
    <section class="panel" aria-label="Curves of the ticked runs">
      <div class="tools">
        <Choice
          label="Curves "
          value=""
          options={plainly(left)}
          none="add a metric …"
          onChange={(name) => name !== "" && setChosen([...chosen, name])}
        />
        <Smoothing value={smoothing} onChange={setSmoothing} />
        <label>
          <input type="checkbox" checked={bySeed} onChange={() => setBySeed(!bySeed)} /> Join seeds
        </label>
        {runs.length === 2 && (
          <a class="button" href={link(["compare"], { a: runs[0].id, b: runs[1].id })}>
            Compare task by task
          </a>
        )}
      </div>
      <div class={chosen.length > 1 ? "charts" : ""}>
        {chosen.map((metric) => (
          <div key={metric} class="removable">
            <Chart
              title={metric}
              x={x}
              series={series(metric)}
              smoothing={smoothing}
              height={chosen.length === 1 ? 300 : undefined}
            />
            {chosen.length > 1 && (
              <button
                type="button"
                class="quiet"
                onClick={() => setChosen(chosen.filter((name) => name !== metric))}
                aria-label={`Remove ${metric}`}
              >
                remove
              </button>
            )}
          </div>
        ))}
      </div>
      {differences.length > 0 && (
        <>
          <h2>What differs in their configurations</h2>
          <Scroll label="Differing settings">
            <table>
              <Columns names={["Setting", ...shown.map(({ row }) => row.id)]} />
              <tbody>
                {differences.map(({ path, values }) => (
                  <tr key={path}>
                    <th scope="row">
                      <code>{path}</code>
                    </th>
                    {values.map((value, i) => (
                      <td key={shown[i].row.id}>
                        <code>{value}</code>
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </>
      )}
    </section>
  );
}

/** Runs that differ in the seed alone. */
function grouped(runs: readonly RunDetail[]): { label: string; runs: RunDetail[] }[] {
  const groups = new Map<string, RunDetail[]>();
  for (const run of runs) groups.set(run.row.configuration, [...(groups.get(run.row.configuration) ?? []), run]);
  return [...groups.values()].map((members) => ({
    label: members.length === 1 ? members[0].row.id : `${members[0].row.algorithm} · ${members.length} seeds`,
    runs: members,
  }));
}

/** One line, or the mean of several with its 95 % interval (normal approximation over the seeds). */
function curves(label: string, runs: readonly RunDetail[], metric: string, x: readonly number[], colour: string): Series[] {
  const values = runs.map(({ steps }) => x.map((_, i) => steps[i]?.metrics[metric] ?? null));
  if (runs.length === 1) return [{ label, values: values[0], colour }];
  const at = x.map((_, i) => values.map((one) => one[i]).filter((value) => value !== null));
  const centre = at.map((known) => (known.length === 0 ? null : mean(known)));
  const half = at.map((known) => 1.96 * Math.sqrt(variance(known) / known.length));
  const bound = (sign: number) => centre.map((value, i) => (value === null ? null : value + sign * half[i]));
  return [
    { label: `${label} high`, values: bound(1), colour, exact: true, bandTo: `${label} low` },
    { label: `${label} low`, values: bound(-1), colour, exact: true },
    { label, values: centre, colour },
  ];
}

function differing(runs: readonly RunDetail[]): { path: string; values: string[] }[] {
  if (runs.length < 2) return [];
  const flat = runs.map(({ config }) => flattened(config));
  const paths = [...new Set(flat.flatMap((one) => [...one.keys()]))].sort();
  return paths
    .map((path) => ({ path, values: flat.map((one) => one.get(path) ?? "–") }))
    .filter(({ values }) => new Set(values).size > 1);
}

export function flattened(value: unknown, path = ""): Map<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return new Map([[path, JSON.stringify(value)]]);
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...flattened(inner, path === "" ? key : `${path}.${key}`)]));
}
