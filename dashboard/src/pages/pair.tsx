import { useMemo, useState } from "preact/hooks";
import { ask, type RunDetail, type TrajectoryView, useAsked } from "../api.ts";
import { number } from "../format.ts";
import { Pending } from "../parts/bits.tsx";
import { Conversation } from "../parts/conversation.tsx";
import { Colouring, type Mode, scaleOf, type TokenPlace } from "../parts/tokens.tsx";
import { link, type Route } from "../router.ts";

/** Two trajectories beside each other, up to where they part and after. */
export function PairPage({ run, route }: { readonly run: RunDetail; readonly route: Route }) {
  const [a, b] = [route.query.get("a") ?? "", route.query.get("b") ?? ""];
  const load = (id: string) => ask<TrajectoryView>("/api/run/trajectory", { run: run.row.id, id });
  const asked = useAsked(`${run.row.id}/${a}/${b}`, async () => [await load(a), await load(b)] as const);
  const { value } = asked;
  const [mode, setMode] = useState<Mode>("push");
  const scale = useMemo(() => scaleOf(value?.flatMap(({ turns }) => turns) ?? [], mode), [value, mode]);
  if (value === undefined) return <Pending asked={asked} text="Reading both …" />;
  const differs = firstDifference(value[0], value[1]);
  return (
    <>
      <div class="tools">
        <h2>Side by side</h2>
        <p class="muted" role="status">
          {differs === undefined
            ? "The two are the same, token for token."
            : `They part in turn ${differs.turn + 1}, at token ${differs.token + 1}.`}
        </p>
        <Colouring mode={mode} scale={scale} onChange={setMode} />
      </div>
      <div class="pair">
        {value.map((view) => (
          <section key={view.entry.id} aria-label={view.entry.id}>
            <h3>
              <a class="mono" href={link(["run", run.row.id, "trajectory"], { id: view.entry.id })}>
                {view.entry.id}
              </a>{" "}
              <span class={view.entry.success ? "win" : "loss"}>reward {number(view.entry.reward)}</span>
            </h3>
            <Conversation of={view} mode={mode} scale={scale} differs={differs} />
          </section>
        ))}
      </div>
    </>
  );
}

function firstDifference(a: TrajectoryView, b: TrajectoryView): TokenPlace | undefined {
  for (let turn = 0; turn < Math.max(a.turns.length, b.turns.length); turn++) {
    const [one, other] = [a.turns[turn]?.ids ?? [], b.turns[turn]?.ids ?? []];
    for (let token = 0; token < Math.max(one.length, other.length); token++)
      if (one[token] !== other[token]) return { turn, token };
  }
  return undefined;
}
