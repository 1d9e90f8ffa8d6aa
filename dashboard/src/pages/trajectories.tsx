import { useState } from "preact/hooks";
import { ask, type RunDetail, type TrajectoryPage, useAsked } from "../api.ts";
import { count, number } from "../format.ts";
import { Choice, Columns, Empty, Pending, Problem, plainly, Scroll } from "../parts/bits.tsx";
import { link, type Route, setQuery } from "../router.ts";

const perPage = 50;
const fields = [
  "source",
  "split",
  "kind",
  "stop",
  "success",
  "fromStep",
  "toStep",
  "task",
  "minReward",
  "maxReward",
  "text",
  "sort",
  "ascending",
] as const;

/** The trajectories of a run, filtered by the index. */
export function TrajectoriesPage({ run, route }: { readonly run: RunDetail; readonly route: Route }) {
  const { row } = run;
  const query = Object.fromEntries(fields.map((name) => [name, route.query.get(name) ?? ""])) as Record<
    (typeof fields)[number],
    string
  >;
  const offset = Number(route.query.get("offset") ?? 0);
  const [text, setText] = useState(query.text);
  const [pair, setPair] = useState<readonly string[]>([]);
  const key = JSON.stringify([row.id, query, offset, run.steps.length]);
  const asked = useAsked<TrajectoryPage>(key, () =>
    ask("/api/run/trajectories", { run: row.id, ...query, offset, limit: perPage }),
  );
  const { value } = asked;
  const set = (changes: Record<string, string | undefined>) => setQuery(route, { offset: undefined, ...changes });
  const choice = (name: (typeof fields)[number], label: string, options: readonly (readonly [string, string])[]) => (
    <Choice label={label} value={query[name]} options={options} none="any" onChange={(to) => set({ [name]: to })} />
  );
  const entry = (name: (typeof fields)[number], label: string, size: number) => (
    <label>
      {label}
      <input type="text" size={size} value={query[name]} onChange={(event) => set({ [name]: event.currentTarget.value })} />
    </label>
  );
  const facets = value?.facets;
  const choose = (id: string) =>
    setPair((known) => (known.includes(id) ? known.filter((one) => one !== id) : [...known.slice(-1), id]));
  return (
    <>
      <form
        class="filters"
        aria-label="Filter trajectories"
        onSubmit={(event) => {
          event.preventDefault();
          set({ text });
        }}
      >
        {choice("source", "From", plainly(facets?.sources ?? []))}
        {choice("kind", "Kind", plainly(facets?.kinds ?? []))}
        {choice("stop", "Ended", plainly(facets?.stops ?? []))}
        {choice("success", "Outcome", [
          ["true", "succeeded"],
          ["false", "failed"],
        ])}
        {choice("sort", "Highest first", plainly(["reward", "turns", "tokens", "entropy"]))}
        {query.sort !== "" && choice("ascending", "Order", [["true", "lowest first"]])}
        {entry("fromStep", "Step from", 4)}
        {entry("toStep", "to", 4)}
        {entry("minReward", "Reward from", 4)}
        {entry("maxReward", "to", 4)}
        {entry("task", "Task", 14)}
        <label class="grow">
          Text
          <input
            type="search"
            value={text}
            placeholder="in messages and calls"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Search</button>
        {fields.some((name) => query[name] !== "") && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              setText("");
              set(Object.fromEntries(fields.map((name) => [name, undefined])));
            }}
          >
            Clear
          </button>
        )}
      </form>
      <Pending asked={asked} text="Reading the episodes …" />
      {value?.problems.map((problem) => (
        <Problem key={problem} text={problem} />
      ))}
      {value !== undefined && (
        <>
          <div class="tools">
            <span role="status">
              {count(value.total)} of {count(value.facets.trajectories)} trajectories{" "}
              <span class="muted">
                in {value.took.toFixed(0)} ms
                {value.searched !== undefined &&
                  value.searched < value.facets.trajectories &&
                  `, text of the newest ${count(value.searched)} searched`}
              </span>
            </span>
            {pair.length === 2 && (
              <a class="button" href={link(["run", row.id, "pair"], { a: pair[0], b: pair[1] })}>
                Read the two side by side
              </a>
            )}
          </div>
          {value.rows.length === 0 ? (
            <Empty>Nothing passes this filter.</Empty>
          ) : (
            <Rows run={row.id} rows={value.rows} pair={pair} choose={choose} />
          )}
          <div class="pager">
            <button
              type="button"
              disabled={offset === 0}
              onClick={() => setQuery(route, { offset: String(Math.max(0, offset - perPage)) })}
            >
              ← Newer
            </button>
            <span class="muted">
              {value.total === 0 ? 0 : offset + 1} – {Math.min(value.total, offset + perPage)}
            </span>
            <button
              type="button"
              disabled={offset + perPage >= value.total}
              onClick={() => setQuery(route, { offset: String(offset + perPage) })}
            >
              Older →
            </button>
          </div>
        </>
      )}
    </>
  );
}

interface RowsProps {
  readonly run: string;
  readonly rows: TrajectoryPage["rows"];
  readonly pair: readonly string[];
  readonly choose: (id: string) => void;
}

function Rows({ run, rows, pair, choose }: RowsProps) {
  return (
    <Scroll label="Trajectories">
      <table>
        <Columns
          names={[
            { hidden: "Choose for reading side by side" },
            "Trajectory",
            "From",
            "Task",
            "Prompt",
            "Kind",
            { number: "Reward" },
            "Ended",
            { number: "Turns" },
            { number: "Tokens" },
            { number: "Entropy" },
          ]}
        />
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td>
                <input
                  type="checkbox"
                  checked={pair.includes(row.id)}
                  onChange={() => choose(row.id)}
                  aria-label={`Choose ${row.id}`}
                />
              </td>
              <td>
                <a href={link(["run", run, "trajectory"], { id: row.id })}>{row.id}</a>
              </td>
              <td>{row.source === "train" ? `step ${row.step}` : `${row.source}, ${row.split ?? ""}`}</td>
              <td>
                <a class="plain" href={link(["run", run, "trajectories"], { task: row.task })}>
                  {row.task}
                </a>
              </td>
              <td class="prompt" title={row.prompt}>
                {row.prompt ?? "–"}
              </td>
              <td>{row.kind === "" ? "–" : row.kind.replaceAll("+", " + ")}</td>
              <td class="n">
                <span class={row.success ? "win" : "loss"}>
                  {row.success ? "✓" : "✗"} {number(row.reward)}
                </span>
              </td>
              <td>{row.stop}</td>
              <td class="n">{row.turns}</td>
              <td class="n">{row.tokens}</td>
              <td class="n">{number(row.entropy, 2)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
