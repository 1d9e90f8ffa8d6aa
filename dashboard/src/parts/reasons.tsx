import type { ComponentChildren } from "preact";
import type { TrajectoryView } from "../api.ts";
import { number, signed } from "../format.ts";
import { visible } from "../visible-text.ts";
import { probability } from "./conversation.tsx";
import { changesOf, type TokenPlace, weightsOf } from "./tokens.tsx";

interface TokenReasonsProps {
  readonly view: TrajectoryView;
  readonly place: TokenPlace;
  readonly close: () => void;
}

/** All that is known of one token: what it was, which way the step moved it, and by whose decision. */
export function TokenReasons({ view, place, close }: TokenReasonsProps) {
  const turn = view.turns[place.turn];
  const { token } = place;
  const weight = weightsOf(turn)[token];
  const change = changesOf(turn)[token];
  const { entry, groupMean } = view;
  return (
    <section class="panel reasons" aria-live="polite" aria-label="Why this token moved">
      <div class="reasons-head">
        <h2>Why this token moved</h2>
        <button type="button" class="quiet" onClick={close} aria-label="Close">
          ✕
        </button>
      </div>
      <p class="token-name">
        <span class="token mono">{visible(turn.texts[token]) || "∅"}</span>
        <span class="muted">
          turn {place.turn + 1}, token {token + 1} of {turn.texts.length} · id {turn.ids[token]}
        </span>
      </p>
      {turn.updates.length === 0 ? (
        <p>
          No optimiser step gave this turn a weight
          {entry.source === "train" ? ": its advantage is 0, or it was left out of the update" : ""}.
        </p>
      ) : (
        <>
          <p class={`verdict ${weight > 0 ? "win" : weight < 0 ? "loss" : ""}`}>
            {weight > 0 ? "Pushed up" : weight < 0 ? "Pushed down" : "Left as it was"} <b>{signed(weight)}</b>
          </p>
          <p>{sentence(entry.reward, groupMean, turn.updates.at(-1)?.advantage ?? null, turn.updates.at(-1)?.factor ?? null)}</p>
        </>
      )}
      <dl class="pairs">
        <dt>When it was sampled</dt>
        <dd>
          {probability(turn.logprobs[token])} <span class="muted">log π {number(turn.logprobs[token])}</span>
        </dd>
        <dt>Entropy there</dt>
        <dd>{number(turn.entropies[token])} nats</dd>
        {turn.updates.length > 0 && (
          <>
            <dt>Before its step</dt>
            <dd>
              {probability(turn.updates[0].before[token])}{" "}
              <span class="muted">log π {number(turn.updates[0].before[token])}</span>
            </dd>
            <dt>After</dt>
            <dd>
              {change === null ? (
                <span class="muted">not looked at again</span>
              ) : (
                <>
                  {probability((turn.updates[0].before[token] ?? 0) + change)}{" "}
                  <span class={change > 0 ? "win" : change < 0 ? "loss" : "muted"}>{signed(change)}</span>
                </>
              )}
            </dd>
          </>
        )}
      </dl>
      {turn.updates.map((update) => (
        <table key={update.optimiserStep} class="update">
          <caption>Optimiser step {update.optimiserStep + 1} of the update</caption>
          <tbody>
            <Row name="weight w">{signed(update.weights[token], 4)}</Row>
            {update.advantage !== null && <Row name="advantage Â">{signed(update.advantage, 4)}</Row>}
            {update.factor !== null && <Row name="M, from later turns">{number(update.factor, 5)}</Row>}
            <Row name="ratio of the token">{number(update.ratios[token], 5)}</Row>
            <Row name="ratio of the turn">{number(update.ratio, 5)}</Row>
            <Row name="clipped">{update.weights[token] === 0 ? "yes: no gradient" : "no"}</Row>
            <Row name="learning rate">
              {number(update.learningRate)}
              {update.rateShare < 1 && <span class="muted"> × {number(update.rateShare)} of the step's largest</span>}
            </Row>
          </tbody>
        </table>
      ))}
    </section>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="n">{children}</td>
    </tr>
  );
}

function sentence(reward: number, groupMean: number, advantage: number | null, factor: number | null): string {
  const beside = `The episode had reward ${number(reward)}, its group ${number(groupMean)} on average`;
  if (advantage === null) return `${beside}.`;
  const carried =
    factor === null || factor === 1
      ? ""
      : `, times M ${number(factor, 4)} for how far the updates of later turns had moved this episode`;
  return `${beside}: advantage ${signed(advantage)}${carried}.`;
}
