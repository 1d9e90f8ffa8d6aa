import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, type RunDetail, type TrajectoryView, useAsked } from "../api.ts";
import { number, signed } from "../format.ts";
import { Pending, Problem } from "../parts/bits.tsx";
import { Conversation } from "../parts/conversation.tsx";
import { TokenReasons } from "../parts/reasons.tsx";
import { Mark } from "../parts/remarks.tsx";
import { Colouring, type Mode, modes, placeOf, scaleOf, type TokenPlace } from "../parts/tokens.tsx";
import { TurnBars } from "../parts/turn-bars.tsx";
import { link, type Route, setQuery } from "../router.ts";

/** One episode: to be read, and to be asked why its tokens moved. */
export function TrajectoryPage({ run, route }: { readonly run: RunDetail; readonly route: Route }) {
  const id = route.query.get("id") ?? "";
  const asked = useAsked<TrajectoryView>(`${run.row.id}/${id}/${run.creditSteps.length}`, () =>
    ask("/api/run/trajectory", { run: run.row.id, id }),
  );
  // The answer before is of another trajectory.
  const value = asked.value?.entry.id === id ? asked.value : undefined;
  if (value === undefined) return <Pending asked={{ ...asked, value }} text="Reading the trajectory …" />;
  return <Trajectory run={run} route={route} view={value} />;
}

function Trajectory({ run, route, view }: { readonly run: RunDetail; readonly route: Route; readonly view: TrajectoryView }) {
  const { entry, turns, group } = view;
  const hasUpdates = turns.some(({ updates }) => updates.length > 0);
  const asked = route.query.get("colour");
  const mode: Mode = modes.find(([name]) => name === asked)?.[0] ?? (hasUpdates ? "push" : "logprob");
  const selected = readPlace(route.query.get("token"));
  const scale = useMemo(() => scaleOf(turns, mode), [turns, mode]);
  const chat = useRef<HTMLDivElement>(null);
  const [copied, setCopied] = useState("");
  const select = (place: TokenPlace | undefined) => setQuery(route, { token: place && `${place.turn}.${place.token}` });
  useEffect(() => {
    chat.current?.querySelector(".chosen")?.scrollIntoView({ block: "center" });
  }, [entry.id]);
  const at = group.findIndex((one) => one.id === entry.id);
  const command = `retrograde-rl trajectory ${quoted(run.row.folder)} ${quoted(entry.id)}`;
  const copy = (text: string, said: string) => navigator.clipboard.writeText(text).then(() => setCopied(said));
  const copyJson = async () => {
    const text = JSON.stringify(await ask("/api/run/raw", { run: run.row.id, id: entry.id }), null, 2);
    await copy(text, "Copied as JSON.");
  };
  return (
    <>
      <button type="button" class="skip" onClick={() => chat.current?.focus()}>
        Skip to the conversation
      </button>
      <div class="trajectory-head">
        <div>
          <h2 class="mono">{entry.id}</h2>
          <p class="sub">
            {entry.source === "train" ? `step ${entry.step}` : `${entry.source}, ${entry.split ?? ""}`} · {entry.task}
            {entry.kind !== "" && ` · ${entry.kind.replaceAll("+", " + ")}`}
          </p>
        </div>
        <div class="tools">
          {at > 0 && (
            <a class="button" href={link(["run", run.row.id, "trajectory"], { id: group[at - 1].id })}>
              ← {at} of group
            </a>
          )}
          {at < group.length - 1 && (
            <a class="button" href={link(["run", run.row.id, "trajectory"], { id: group[at + 1].id })}>
              {at + 2} of group →
            </a>
          )}
          {group.length > 1 && (
            <a class="button" href={link(["run", run.row.id, "pair"], { a: entry.id, b: opposite(view) })}>
              Side by side
            </a>
          )}
          {entry.source === "train" && (
            <a class="button" href={link(["run", run.row.id, "tree"], { step: entry.step, group: entry.group })}>
              Tree
            </a>
          )}
          <Mark run={run.row.id} trajectory={entry.id} />
          <button type="button" onClick={copyJson}>
            Copy JSON
          </button>
          <button
            type="button"
            onClick={() => copy(`${command} --replay`, "Copied the command that plays it once more.")}
            title={`${command} --replay`}
          >
            Copy replay command
          </button>
          <span class="said" role="status">
            {copied}
          </span>
        </div>
      </div>
      <dl class="facts">
        <Fact name="reward" value={number(entry.reward)} tone={entry.success ? "win" : "loss"} />
        <Fact name="group mean" value={number(view.groupMean)} />
        <Fact name="above the mean" value={signed(entry.reward - view.groupMean)} />
        <Fact name="ended" value={view.stop} />
        <Fact name="turns" value={String(entry.turns)} />
        <Fact name="tokens" value={String(entry.tokens)} />
        {Object.entries(view.scores).map(([name, score]) => (
          <Fact key={name} name={name} value={number(score)} />
        ))}
      </dl>
      {view.error !== undefined && <Problem text={view.error} />}
      {view.branch !== undefined && (
        <p class="muted">
          Forked from <a href={link(["run", run.row.id, "trajectory"], { id: view.branch.from })}>{view.branch.from}</a>{" "}
          {view.branch.kept === undefined ? "before" : `behind ${view.branch.kept} tokens of`} turn {view.branch.turn + 1}.
        </p>
      )}
      <div class="tools sticky-tools">
        <span aria-hidden="true">Colour tokens by</span>
        <Colouring mode={mode} scale={scale} hasUpdates={hasUpdates} onChange={(colour) => setQuery(route, { colour })} />
      </div>
      <div class="reading">
        <section
          ref={chat}
          class="chat-holder"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys go from token to token here
          tabIndex={0}
          aria-label="Conversation. Left and right arrow keys go from token to token."
          onClick={(event) => {
            const place = placeOf(event);
            if (place !== undefined) select(place);
          }}
          onKeyDown={(event) => {
            const next = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            if (next === 0) return;
            event.preventDefault();
            select(moved(view, selected, next));
          }}
        >
          <Conversation of={view} mode={mode} scale={scale} selected={selected} />
        </section>
        <aside class="side">
          {selected !== undefined && turns[selected.turn]?.texts[selected.token] !== undefined ? (
            <TokenReasons view={view} place={selected} close={() => select(undefined)} />
          ) : (
            <section class="panel hint-panel">
              <h2>Why this token moved</h2>
              <p class="muted">
                {hasUpdates
                  ? "Click a token, or go to one with the arrow keys: its weight over the updates, where that came from, and its probability before and after the step."
                  : view.hasCredits
                    ? "The update left this trajectory alone: its group had no signal, or it was not trained on."
                    : "This step has no credits: it is an evaluation, or the run was recorded without them."}
              </p>
            </section>
          )}
          <TurnBars turns={turns} />
        </aside>
      </div>
    </>
  );
}

/** A folder or an id as a shell takes it. */
function quoted(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function Fact({ name, value, tone }: { readonly name: string; readonly value: string; readonly tone?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={tone}>{value}</dd>
    </div>
  );
}

function readPlace(text: string | null): TokenPlace | undefined {
  const [, turn, token] = /^(\d+)\.(\d+)$/.exec(text ?? "") ?? [];
  return turn === undefined ? undefined : { turn: Number(turn), token: Number(token) };
}

/** The next token in one direction, over the ends of turns. */
function moved({ turns }: TrajectoryView, from: TokenPlace | undefined, by: 1 | -1): TokenPlace {
  if (from === undefined) return { turn: 0, token: 0 };
  const token = from.token + by;
  const length = turns[from.turn]?.texts.length ?? 0;
  if (token >= 0 && token < length) return { turn: from.turn, token };
  const turn = Math.min(turns.length - 1, Math.max(0, from.turn + by));
  if (turn === from.turn) return from;
  return { turn, token: by > 0 ? 0 : turns[turn].texts.length - 1 };
}

/** The first of the group that ended otherwise, else its neighbour. */
function opposite({ entry, group }: TrajectoryView): string {
  return (group.find(({ success }) => success !== entry.success) ?? group.find(({ id }) => id !== entry.id) ?? entry).id;
}
