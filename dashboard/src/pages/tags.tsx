import { useEffect, useState } from "preact/hooks";
import { ask, type RunDetail, send, type TagSeries } from "../api.ts";
import { percent } from "../format.ts";
import { Problem } from "../parts/bits.tsx";
import { Chart } from "../parts/chart.tsx";
import { link } from "../router.ts";
import { seriesColours } from "../theme.ts";

interface Tag {
  readonly name: string;
  readonly kind: "text" | "tool" | "sequence";
  readonly pattern?: string;
  readonly tool?: string;
  readonly tools?: readonly string[];
}

const key = (run: string) => `retrograde-tags/${run}`;

/** Named patterns, counted over the steps of a run. */
export function TagsPage({ run: { row, steps } }: { readonly run: RunDetail }) {
  const [tags, setTags] = useState<readonly Tag[] | undefined>(undefined);
  const [series, setSeries] = useState<TagSeries | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  useEffect(() => {
    const kept = localStorage.getItem(key(row.id));
    if (kept !== null) setTags(JSON.parse(kept) as Tag[]);
    else ask<Tag[]>("/api/run/tags/suggested", { run: row.id }).then(setTags, (error: Error) => setProblem(error.message));
  }, [row.id]);
  useEffect(() => {
    if (tags === undefined) return;
    let current = true;
    send<TagSeries>("/api/run/tags", { run: row.id }, tags).then(
      (value) => {
        if (!current) return;
        setSeries(value);
        setProblem(undefined);
      },
      (error: Error) => current && setProblem(error.message),
    );
    return () => {
      current = false;
    };
  }, [tags, steps.length]);
  const change = (next: readonly Tag[]) => {
    localStorage.setItem(key(row.id), JSON.stringify(next));
    setTags(next);
  };
  return (
    <>
      <div class="tools">
        <h2>Tags over the steps</h2>
      </div>
      <p class="muted">
        The share of a step's episodes in which a pattern occurs, and how often those succeeded. Up to 40 steps are read.
      </p>
      <NewTag add={(tag) => change([...(tags ?? []).filter(({ name }) => name !== tag.name), tag])} />
      {problem !== undefined && <Problem text={problem} />}
      {series?.problems.map((text) => (
        <Problem key={text} text={text} />
      ))}
      {series === undefined && problem === undefined && <p class="muted">Reading the episodes …</p>}
      {series !== undefined && tags !== undefined && (
        <div class="charts">
          {tags.map((tag, i) => {
            const counts = series.counts.map((step) => step.find(({ name }) => name === tag.name));
            const last = counts.at(-1);
            return (
              <div key={tag.name} class="tag">
                <Chart
                  title={tag.name}
                  x={series.steps}
                  series={[
                    {
                      label: "share",
                      values: counts.map((one) => one?.share ?? null),
                      colour: seriesColours[i % seriesColours.length],
                    },
                  ]}
                  height={110}
                  fromZero
                />
                <p class="turn-notes">
                  {last !== undefined && (
                    <span>
                      with it {percent(last.successWith)} succeed, without {percent(last.successWithout)}
                    </span>
                  )}
                  {last?.example !== undefined && <a href={link(["run", row.id, "trajectory"], { id: last.example })}>example</a>}
                  <button
                    type="button"
                    class="quiet"
                    onClick={() => change(tags.filter((one) => one !== tag))}
                    aria-label={`Remove ${tag.name}`}
                  >
                    remove
                  </button>
                </p>
              </div>
            );
          })}
        </div>
      )}
    </>
  );
}

function NewTag({ add }: { readonly add: (tag: Tag) => void }) {
  const [kind, setKind] = useState<Tag["kind"]>("text");
  const [name, setName] = useState("");
  const [what, setWhat] = useState("");
  return (
    <form
      class="filters"
      aria-label="New tag"
      onSubmit={(event) => {
        event.preventDefault();
        if (what.trim() === "") return;
        const named = name.trim() || what.trim();
        if (kind === "text") add({ name: named, kind, pattern: what });
        else if (kind === "tool") add({ name: named, kind, tool: what.trim() });
        else add({ name: named, kind, tools: what.trim().split(/[\s,]+/) });
        setName("");
        setWhat("");
      }}
    >
      <label>
        Pattern
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value as Tag["kind"])}>
          <option value="text">text (regular expression)</option>
          <option value="tool">tool</option>
          <option value="sequence">calls in order</option>
        </select>
      </label>
      <label class="grow">
        {kind === "text" ? "Expression" : kind === "tool" ? "Tool's name" : "Tools, in order"}
        <input type="text" value={what} onInput={(event) => setWhat(event.currentTarget.value)} />
      </label>
      <label>
        Name
        <input type="text" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={what.trim() === ""}>
        Count it
      </button>
    </form>
  );
}
