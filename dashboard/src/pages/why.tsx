import { ask, type PhraseList, type RunDetail, useAsked } from "../api.ts";
import { number, signed } from "../format.ts";
import { Choice, Empty, Pending, plainly } from "../parts/bits.tsx";
import { link, type Route, setQuery } from "../router.ts";
import { visible } from "../visible-text.ts";

/** What a step taught: the phrases that it pushed up and down most. */
export function WhyPage({ run, route }: { readonly run: RunDetail; readonly route: Route }) {
  const step = Number(route.query.get("step") ?? run.creditSteps.at(-1) ?? 0);
  const asked = useAsked<PhraseList>(step === 0 ? undefined : `${run.row.id}/${step}`, () =>
    ask("/api/run/phrases", { run: run.row.id, step }),
  );
  const { value } = asked;
  if (run.creditSteps.length === 0)
    return (
      <Empty>
        This run has no credits: it is older than them, or was trained with <code>record.credits=false</code>.
      </Empty>
    );
  const go = (to: number | undefined) => to !== undefined && setQuery(route, { step: String(to) });
  const at = run.creditSteps.indexOf(step);
  return (
    <>
      <div class="tools">
        <h2>What step {step} pushed</h2>
        <button type="button" disabled={at <= 0} onClick={() => go(run.creditSteps[at - 1])} aria-label="Step before">
          ←
        </button>
        <Choice label="Step " value={String(step)} options={plainly(run.creditSteps)} onChange={(to) => go(Number(to))} />
        <button
          type="button"
          disabled={at < 0 || at >= run.creditSteps.length - 1}
          onClick={() => go(run.creditSteps[at + 1])}
          aria-label="Step after"
        >
          →
        </button>
      </div>
      <p class="muted">
        Phrases of two to five words by the weight Σ w·η/η₀ that the step gave their tokens, over all episodes and optimiser
        steps. A place leads to its tokens.
      </p>
      {step !== 0 && <Pending asked={asked} text="Reading the episodes …" />}
      {value !== undefined && (
        <div class="pushed">
          <Phrases title="Pushed up" run={run.row.id} phrases={value.up} tone="win" />
          <Phrases title="Pushed down" run={run.row.id} phrases={value.down} tone="loss" />
        </div>
      )}
    </>
  );
}

function Phrases({
  title,
  run,
  phrases,
  tone,
}: {
  readonly title: string;
  readonly run: string;
  readonly phrases: PhraseList["up"];
  readonly tone: string;
}) {
  const largest = Math.abs(phrases[0]?.weight ?? 1);
  return (
    <section class="panel" aria-label={title}>
      <h3 class={tone}>{title}</h3>
      {phrases.length === 0 && <p class="muted">Nothing.</p>}
      <ol class="phrases">
        {phrases.map(({ text, weight, count, positions }) => (
          <li key={text}>
            <div class="phrase">
              <code>{visible(text)}</code>
              <span class="n">
                {signed(weight)} <span class="muted">× {count}</span>
              </span>
            </div>
            <meter class={tone} min={0} max={largest} value={Math.abs(weight)} aria-label={`weight ${number(weight)}`} />
            <details>
              <summary>{positions.length === count ? "positions" : `the first ${positions.length} positions`}</summary>
              {positions.map(({ trajectory, turn, token }) => (
                <a
                  key={`${trajectory}/${turn}/${token}`}
                  href={link(["run", run, "trajectory"], { id: trajectory, token: `${turn}.${token}` })}
                >
                  {trajectory}, turn {turn + 1}
                </a>
              ))}
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}
