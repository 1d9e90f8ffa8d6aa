import { outwards } from "../../../src/statistics/outwards.ts";
import { ask, type ComparisonView, type RunList, useAsked } from "../api.ts";
import { percent, pointsText, signed } from "../format.ts";
import { Choice, Columns, Empty, Pending, plainly, Scroll } from "../parts/bits.tsx";
import { link, type Route, setQuery } from "../router.ts";

/** Two runs on the same tasks. */
export function ComparePage({ route }: { readonly route: Route }) {
  const list = useAsked<RunList>("runs", () => ask("/api/runs"));
  const [a, b] = [route.query.get("a") ?? "", route.query.get("b") ?? ""];
  const both = a !== "" && b !== "";
  const asked = useAsked<ComparisonView>(both ? `${a}/${b}` : undefined, () => ask("/api/compare", { a, b }));
  const { value } = asked;
  const runs = { options: plainly(list.value?.runs.map(({ id }) => id) ?? []), none: "choose a run" };
  return (
    <>
      <div class="page-head">
        <h1>Compare two runs</h1>
      </div>
      <div class="filters">
        <Choice label="Run A" value={a} {...runs} onChange={(id) => setQuery(route, { a: id })} />
        <Choice label="Run B" value={b} {...runs} onChange={(id) => setQuery(route, { b: id })} />
      </div>
      {!both && <Empty>Choose two runs: their last evaluations are compared task by task.</Empty>}
      {both && <Pending asked={asked} text="Reading both runs …" />}
      {value?.length === 0 && <Empty>The two were not evaluated on the same split.</Empty>}
      {value?.map(({ split, decoding, meanA, meanB, paired: { tasks, difference, smallest }, pairs, stepA, stepB }) => (
        <section key={`${split} ${decoding}`} class="panel" aria-label={`Split ${split}, ${decoding}`}>
          <h2>
            {split}, {decoding}: {tasks} tasks that both attempted
          </h2>
          <p class="lead">
            A {percent(meanA)} <span class="muted">after step {stepA}</span> · B {percent(meanB)}{" "}
            <span class="muted">after step {stepB}</span> · difference{" "}
            <b class={difference.low > 0 ? "win" : difference.high < 0 ? "loss" : ""}>{pointsText(difference.mean)}</b>{" "}
            <span class="muted">
              95 % interval {outwards(difference).join(" to ")}, paired over tasks. A difference of {(smallest * 100).toFixed(1)}{" "}
              points would have been detected in four of five such comparisons.
            </span>
          </p>
          <Scroll label={`Tasks of ${split}, ${decoding}, that differ`}>
            <table>
              <Columns names={["Task", "Kind", { number: "A" }, { number: "B" }, { number: "B − A" }]} />
              <tbody>
                {pairs.slice(0, 100).map((pair) => (
                  <tr key={pair.task}>
                    <td>{pair.task}</td>
                    <td>{pair.kind === "" ? "–" : pair.kind.replaceAll("+", " + ")}</td>
                    <td class="n">
                      <a href={link(["run", a, "trajectory"], { id: pair.exampleA })}>{percent(pair.a)}</a>
                    </td>
                    <td class="n">
                      <a href={link(["run", b, "trajectory"], { id: pair.exampleB })}>{percent(pair.b)}</a>
                    </td>
                    <td class={`n ${pair.b > pair.a ? "win" : "loss"}`}>{signed((pair.b - pair.a) * 100)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </section>
      ))}
    </>
  );
}
