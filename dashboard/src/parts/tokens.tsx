import { memo } from "preact/compat";
import type { TurnView } from "../api.ts";
import { visible } from "../visible-text.ts";

export const modes = [
  ["push", "push"],
  ["weight", "weight"],
  ["change", "change"],
  ["logprob", "log-prob"],
  ["entropy", "entropy"],
  ["none", "plain"],
] as const;
/** The way in which tokens are coloured. */
export type Mode = (typeof modes)[number][0];

export interface TokenPlace {
  readonly turn: number;
  readonly token: number;
}

/** Σ w·η/η₀ over the updates of a turn, one for each token; empty where no update is recorded. */
export function weightsOf({ updates, texts }: TurnView): number[] {
  if (updates.length === 0) return [];
  return texts.map((_, t) => updates.reduce((sum, { weights, rateShare }) => sum + rateShare * (weights[t] ?? 0), 0));
}

/**
 * How hard the update pushed each token: its weight by the share that it could still gain, w·(1 − π). All tokens of an episode may have one
 * weight; those that the model was sure of hardly move by it.
 */
export function pushesOf(turn: TurnView): number[] {
  return weightsOf(turn).map((weight, t) => weight * (1 - Math.exp(turn.logprobs[t] ?? 0)));
}

/** log-prob after the whole update less log-prob before its first update; null where it was not computed. */
export function changesOf({ updates, texts }: TurnView): (number | null)[] {
  const [first, last] = [updates[0], updates.findLast(({ end }) => end.some((value) => value !== null))];
  return texts.map((_, t) => {
    const [before, after] = [first?.before[t], last?.end[t]];
    return before === null || before === undefined || after === null || after === undefined ? null : after - before;
  });
}

/** The value that a token is coloured by. */
export function valuesOf(turn: TurnView, mode: Mode): (number | null)[] {
  switch (mode) {
    case "push":
      return pushesOf(turn);
    case "weight":
      return weightsOf(turn);
    case "change":
      return changesOf(turn);
    case "logprob":
      return [...turn.logprobs];
    case "entropy":
      return [...turn.entropies];
    case "none":
      return [];
  }
}

/** The largest absolute value over all turns: the end of the scale. The 99th percentile, so that one token does not bleach the others. */
export function scaleOf(turns: readonly TurnView[], mode: Mode): number {
  const values = turns.flatMap((turn) => valuesOf(turn, mode)).flatMap((value) => (value === null ? [] : [Math.abs(value)]));
  values.sort((a, b) => a - b);
  return values[Math.floor(0.99 * (values.length - 1))] || values.at(-1) || 1;
}

const levels = 7;

/** Classes of the style sheet: u for what was pushed up, d for down, q for amounts without a sign; l1 … l7 for how much. */
export function shade(value: number | null | undefined, scale: number, mode: Mode): string {
  if (mode === "none") return "";
  if (value === null || value === undefined) return "na";
  const level = Math.min(levels, Math.ceil((Math.abs(value) / scale) * levels - 1e-9));
  if (level <= 0) return "";
  return hasSign(mode) ? `${value > 0 ? "u" : "d"} l${level}` : `q l${level}`;
}

/** True for values that are above or below 0; false for amounts. */
function hasSign(mode: Mode): boolean {
  return mode !== "logprob" && mode !== "entropy";
}

interface TokensProps {
  readonly turn: TurnView;
  readonly mode: Mode;
  readonly scale: number;
  readonly selected?: number;
  readonly differsAt?: number;
}

/** The tokens of an action. Clicks are taken by whoever holds them: ten thousand handlers would be slow. Text is only ever text. */
export const Tokens = memo(function Tokens({ turn, mode, scale, selected, differsAt }: TokensProps) {
  const values = valuesOf(turn, mode);
  return (
    <span class="tokens" data-turn={turn.turn}>
      {turn.texts.map((text, t) => (
        <span
          key={t}
          data-token={t}
          class={`token ${shade(values[t], scale, mode)}${t === selected ? " chosen" : ""}${t === differsAt ? " differs" : ""}`}
        >
          {visible(text)}
        </span>
      ))}
    </span>
  );
});

/** The place that a click hit. */
export function placeOf(event: Event): TokenPlace | undefined {
  const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-token]") : null;
  const holder = element?.closest<HTMLElement>("[data-turn]");
  if (element === null || holder === undefined || holder === null) return undefined;
  return { turn: Number(holder.dataset.turn), token: Number(element.dataset.token) };
}

interface ColouringProps {
  readonly mode: Mode;
  readonly scale: number;
  /** False where there is nothing that an update has changed. Default true. */
  readonly hasUpdates?: boolean;
  readonly onChange: (mode: Mode) => void;
}

/** The choice of how tokens are coloured, and the scale of the colours. */
export function Colouring({ mode, scale, hasUpdates = true, onChange }: ColouringProps) {
  return (
    <>
      <fieldset class="choices">
        <legend class="hidden">Colour tokens by</legend>
        {modes.map(([name, label]) => {
          const disabled = !hasUpdates && (name === "push" || name === "weight" || name === "change");
          return (
            <button key={name} type="button" aria-pressed={mode === name} disabled={disabled} onClick={() => onChange(name)}>
              {label}
            </button>
          );
        })}
      </fieldset>
      <Scale mode={mode} scale={scale} />
    </>
  );
}

function Scale({ mode, scale }: { readonly mode: Mode; readonly scale: number }) {
  if (mode === "none") return null;
  const steps = Array.from({ length: levels }, (_, i) => i + 1);
  const signed = hasSign(mode);
  const end = Number(scale.toPrecision(2));
  return (
    <span class="scale">
      {signed && <span>−{end}</span>}
      {signed && steps.toReversed().map((i) => <i key={`d${i}`} class={`token d l${i}`} />)}
      {!signed && <span>0</span>}
      {steps.map((i) => (
        <i key={i} class={`token ${signed ? "u" : "q"} l${i}`} />
      ))}
      <span>
        {signed ? "+" : mode === "logprob" ? "−" : ""}
        {end}
      </span>
    </span>
  );
}
