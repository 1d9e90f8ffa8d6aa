import type { AdamSettings, Datum, ForwardBackwardResult, SampleCall, SampleResult } from "./data.ts";
import { TinkerError } from "./errors.ts";

/** Servers check little of what they are sent, and one NaN or foreign token id can spoil every model of a server: so the client checks. */

/** The limits that are known of a model. An unknown limit is not checked. */
export interface ModelLimits {
  /** Token ids are 0 … vocabularySize − 1. */
  readonly vocabularySize?: number;
  /** Longest sequence in tokens, prompt and answer together. */
  readonly maxLength?: number;
}

/** @throws TinkerError naming the first thing that is wrong */
export function checkData(data: readonly Datum[], limits: ModelLimits): void {
  if (data.length === 0) refuse("data", "empty", "at least one datum");
  data.forEach(({ tokens, targets, inputs = {} }, i) => {
    const where = `datum ${i}`;
    checkTokens(`tokens of ${where}`, tokens, limits);
    if (targets.length !== tokens.length) refuse(`targets of ${where}`, targets.length, `${tokens.length} ids, one a token`);
    checkTokens(`targets of ${where}`, targets, limits);
    for (const [name, values] of Object.entries(inputs)) {
      if (values.length !== targets.length)
        refuse(`${name} of ${where}`, values.length, `${targets.length} numbers, one a target`);
      const bad = values.find((value) => !Number.isFinite(Math.fround(value)));
      if (bad !== undefined) refuse(`${name} of ${where}`, bad, "finite numbers, also as float32");
    }
  });
}

/** @throws TinkerError naming the first setting that no server takes */
export function checkAdam(settings: AdamSettings): void {
  for (const [name, value] of Object.entries(settings))
    if (!(Number.isFinite(value) && value >= 0)) refuse(`adam.${name}`, value, "a finite number ≥ 0");
}

/** @throws TinkerError */
export function checkSample(
  { prompt, maxTokens, temperature = 1, topP = 1, topK = 0, samples = 1 }: SampleCall,
  limits: ModelLimits,
): void {
  checkTokens("prompt", prompt, limits);
  if (!(Number.isInteger(maxTokens) && maxTokens >= 1)) refuse("maxTokens", maxTokens, "a whole number from 1");
  if (!(Number.isInteger(samples) && samples >= 1)) refuse("samples", samples, "a whole number from 1");
  if (!(temperature >= 0 && temperature < Infinity)) refuse("temperature", temperature, "a number from 0, which is greedy");
  if (!(topP > 0 && topP <= 1)) refuse("topP", topP, "a number above 0, at most 1");
  if (!(Number.isInteger(topK) && topK >= 0)) refuse("topK", topK, "a whole number from 0, which is off");
  if (limits.maxLength !== undefined && prompt.length + maxTokens > limits.maxLength)
    refuse("prompt and maxTokens", prompt.length + maxTokens, `at most ${limits.maxLength} tokens, the model's length`);
}

/** Letters, digits, "_" and "-", at most 255. @throws TinkerError */
export function checkName(name: string): void {
  if (!/^[a-zA-Z0-9_-]{1,255}$/.test(name)) refuse("name of a checkpoint", name, "1 to 255 letters, digits, - and _");
}

/** @throws TinkerError if a result has not one finite log-prob for each target */
export function checkPass(result: ForwardBackwardResult, data: readonly Datum[]): void {
  const rows = result.fields.logprobs;
  if (rows.length !== data.length) distrust("data in a result", rows.length, `${data.length}, as many as were sent`);
  rows.forEach((row, i) => {
    const wanted = data[i]?.targets.length;
    if (row.length !== wanted) distrust(`log-probs of datum ${i}`, row.length, `${wanted}`);
    const bad = row.find((value) => !Number.isFinite(value));
    if (bad !== undefined) distrust(`a log-prob of datum ${i}`, bad, "a finite number");
  });
}

/** Aligns the prompt's log-probs, of which some servers leave out the first. @throws TinkerError for results that are not those of the call */
export function checkedSamples(
  result: SampleResult,
  { prompt, samples = 1, promptLogprobs }: SampleCall,
  limits: ModelLimits,
): SampleResult {
  const { sequences } = result;
  if (sequences.length !== samples) distrust("sequences in a sample", sequences.length, `${samples}`);
  for (const { tokens, logprobs } of sequences) {
    if (tokens.length === 0) distrust("a sampled sequence", "empty", "at least one token");
    if (logprobs.length !== tokens.length) distrust("log-probs of a sampled sequence", logprobs.length, `${tokens.length}`);
    const bad = logprobs.find((value) => !Number.isFinite(value));
    if (bad !== undefined) distrust("a log-prob of a sampled sequence", bad, "a finite number");
    const { vocabularySize = Infinity } = limits;
    const outside = tokens.find((token) => token < 0 || token >= vocabularySize);
    if (outside !== undefined) distrust("a sampled token", outside, `0 to ${vocabularySize - 1}`);
  }
  if (!promptLogprobs) return result;
  const given = result.promptLogprobs ?? [];
  if (given.length !== prompt.length && given.length !== prompt.length - 1)
    distrust("log-probs of the prompt", given.length, `${prompt.length}`);
  const aligned = [Number.NaN, ...given.slice(given.length - prompt.length + 1)];
  const bad = aligned.slice(1).find((value) => !Number.isFinite(value));
  if (bad !== undefined) distrust("a log-prob of the prompt", bad, "a finite number");
  return { ...result, promptLogprobs: aligned };
}

function checkTokens(
  name: string,
  tokens: readonly number[],
  { vocabularySize = 2 ** 31, maxLength = Infinity }: ModelLimits,
): void {
  if (tokens.length === 0) refuse(name, "empty", "at least one token");
  if (tokens.length > maxLength) refuse(`number of ${name}`, tokens.length, `at most ${maxLength}, the model's length`);
  const bad = tokens.find((token) => !(Number.isInteger(token) && token >= 0 && token < vocabularySize));
  if (bad !== undefined) refuse(name, bad, `whole numbers from 0 to ${vocabularySize - 1}`);
}

function refuse(subject: string, value: unknown, expected: string): never {
  throw new TinkerError(subject, value, { kind: "request", retry: "never", expected });
}

function distrust(subject: string, value: unknown, expected: string): never {
  throw new TinkerError(subject, value, {
    kind: "answer",
    retry: "from-checkpoint",
    expected,
    hint: "The server's answer cannot be trusted: its models may hold NaN.",
  });
}
