import { commonPrefix } from "../../../src/core/context.ts";
import { EngineError } from "../../../src/core/errors.ts";
import { type Random, randomStream } from "../../../src/core/random.ts";
import type { TokenId } from "../../../src/core/trajectory.ts";
import type { SampledAction, SampleRequest } from "../../../src/engines/engine.ts";
import { requireTokens } from "../machine/token-ids.ts";
import type { Arrays } from "../model/arrays.ts";
import { notFiniteError } from "../model/broken-weights.ts";
import { type Choice, chooseToken, masked, needsLogits, topCandidates } from "./choose.ts";
import type { StepOutputs } from "./sampling-graph.ts";
import { StopStrings } from "./stop-strings.ts";

/** A request that is being sampled. `tokens` are in the cache; `pending` must be fed before the next token can be drawn. */
export interface Row {
  readonly request: SampleRequest;
  readonly choice: Choice;
  readonly maxTokens: number;
  readonly random: Random;
  readonly stopStrings: StopStrings | undefined;
  readonly tokens: TokenId[];
  pending: TokenId[];
  /** Rows whose tokens are the same so far. They draw from this one's distributions, and have no slot of their own. */
  twins: readonly Row[];
  readonly action: {
    readonly tokens: TokenId[];
    readonly logprobs: number[];
    masked?: number[];
    readonly modelLogprobs: number[];
    readonly entropies: number[];
    readonly topLogprobs?: (readonly number[])[];
    readonly topTokens?: (readonly TokenId[])[];
  };
  readonly resolve: (action: LocalAction) => void;
  readonly reject: (error: unknown) => void;
}

/** A sampled action with the model's own log-probs. */
export type LocalAction = SampledAction & Required<Pick<SampledAction, "modelLogprobs">>;

export interface RowLimits {
  /** Longest sequence, context and action together. */
  readonly maxLength: number;
  readonly vocabSize: number;
  /** Text of an action so far, for stop strings. */
  readonly decode: ((tokens: readonly TokenId[]) => string) | undefined;
}

/** Begins a request that `checkRequest` accepts. */
export function newRow(request: SampleRequest, { maxLength, decode }: RowLimits, settle: Pick<Row, "resolve" | "reject">): Row {
  const { context, stopStrings: stops = [] } = request;
  return {
    request,
    choice: { temperature: request.temperature ?? 1, topP: request.topP ?? 1, topK: request.topK ?? 0 },
    maxTokens: Math.min(request.maxTokens, maxLength - context.length),
    random: randomStream(request.seed, "action"),
    stopStrings: decode && stops.length > 0 ? new StopStrings(decode, stops) : undefined,
    tokens: [],
    pending: [...context],
    twins: [],
    action: {
      ...{ tokens: [], logprobs: [], modelLogprobs: [], entropies: [] },
      ...(request.topLogprobs ? { topLogprobs: [], topTokens: [] } : {}),
    },
    ...settle,
  };
}

/** @throws EngineError naming what no model could sample */
export function checkRequest(request: SampleRequest, { maxLength, vocabSize, decode }: RowLimits): void {
  const { context, maxTokens, temperature = 1, topP = 1, topK = 0, topLogprobs: candidates = 0 } = request;
  const check = (fits: boolean, name: string, value: unknown, expected: string) => {
    if (!fits) throw new EngineError(name, value, { expected });
  };
  check(context.length > 0 && context.length < maxLength, "context length", context.length, `1 to ${maxLength - 1} tokens`);
  requireTokens(context, vocabSize);
  check(Number.isInteger(maxTokens) && maxTokens >= 1, "maxTokens", maxTokens, "a whole number from 1");
  check(temperature >= 0 && temperature < Infinity, "temperature", temperature, "a number from 0, which is greedy");
  check(topP > 0 && topP <= 1, "topP", topP, "a number above 0, at most 1, which is off");
  check(Number.isInteger(topK) && topK >= 0, "topK", topK, "a whole number from 0, which is off");
  check(Number.isInteger(candidates) && candidates >= 0, "topLogprobs", candidates, "a whole number from 0, which is off");
  const { stopStrings: stops = [] } = request;
  check(stops.length === 0 || decode !== undefined, "stopStrings", stops, "an engine made with `decode`");
}

/**
 * Draws a row's next token from line `r` of a step's outputs.
 * @param parameters to be named where a probability is no number; undefined where they are on a device
 * @returns why the action ends here; undefined if it continues
 * @throws EngineError if a log-prob is not finite
 */
export function drawToken(
  row: Row,
  r: number,
  { probabilities, logits, entropies, drawn }: StepOutputs,
  vocabSize: number,
  parameters: Arrays | undefined,
): SampledAction["finish"] | undefined {
  const line = drawn?.lineOf.get(r) ?? r;
  const of = (matrix: Float32Array) => matrix.subarray(line * vocabSize, (line + 1) * vocabSize);
  const { action, choice, request } = row;
  const { probabilities: possible, changed } =
    request.mask === undefined ? { probabilities: of(probabilities), changed: false } : masked(of(probabilities), request.mask);
  if (changed) (action.masked ??= []).push(action.tokens.length);
  const chosen =
    drawn?.chosen[r] ??
    chooseToken(possible, needsLogits(choice) && logits ? of(logits) : undefined, choice, row.random.uniform());
  if (!Number.isFinite(chosen.logprob + entropies[r]))
    throw notFiniteError("the log-prob of a sampled token", chosen.logprob, parameters);
  action.tokens.push(chosen.token);
  action.logprobs.push(chosen.logprob);
  action.modelLogprobs.push(chosen.modelLogprob);
  action.entropies.push(entropies[r]);
  const top = action.topLogprobs === undefined ? undefined : topCandidates(possible, request.topLogprobs ?? 0);
  if (top !== undefined) {
    action.topLogprobs?.push(top.logprobs);
    action.topTokens?.push(top.tokens);
  }
  row.pending = [chosen.token];
  request.mask?.accept(chosen.token);
  request.onToken?.({ token: chosen.token, logprob: chosen.logprob, ...(top === undefined ? {} : { top }) });
  if (request.stopTokens.includes(chosen.token)) return "stop";
  if (row.stopStrings?.foundIn(action.tokens)) return "stop";
  return action.tokens.length >= row.maxTokens ? "length" : undefined;
}

/** Whether nothing of a row's distribution is needed but what it draws. */
export function drawsAlone({ request, choice, twins, pending }: Row): boolean {
  const { mask, topLogprobs = 0 } = request;
  const isWhole = choice.temperature === 0 || (choice.topK === 0 && choice.topP === 1);
  return isWhole && mask === undefined && topLogprobs === 0 && twins.length === 0 && pending.length === 1;
}

/** Tokens of a row's context that a cached sequence also starts with. The last is always fed: it gives the first distribution. */
export function sharedWith(row: Row, tokens: readonly TokenId[]): number {
  return Math.min(commonPrefix(row.request.context, tokens), row.request.context.length - 1);
}

/** True if two rows that have drawn nothing have one distribution. */
export function isTwin({ request: { context }, choice }: Row, other: Row): boolean {
  const of = other.request.context;
  return (
    choice.temperature === other.choice.temperature && context.length === of.length && commonPrefix(context, of) === of.length
  );
}

/** Rows that are to be fed, by the token that each has drawn: rows of one of them stay twins. In the order in which tokens were drawn. */
export function byToken(rows: readonly Row[]): Row[][] {
  const groups = new Map<TokenId, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.pending[0]);
    if (group === undefined) groups.set(row.pending[0], [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

export function markCached(row: Row, length: number): void {
  row.tokens.push(...row.pending.splice(0, length - row.tokens.length));
}

/** Makes a row the one that is fed, for itself and its twins. @param cached the tokens that its slot holds */
export function adopt(row: Row, cached: readonly TokenId[], twins: readonly Row[]): void {
  row.twins = twins;
  if (row.tokens === cached) return; // it was fed already, and has drawn what is pending
  row.pending = [...row.request.context, ...row.action.tokens].slice(cached.length);
  row.tokens.splice(0, row.tokens.length, ...cached);
}

export function cancelled(): EngineError {
  return new EngineError("sampling", "cancelled", { hint: "The request's signal was aborted, or the engine was closed." });
}
