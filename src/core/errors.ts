import { withoutSecrets } from "./secrets.ts";

/** One class a boundary. Every error says what failed, with which value, what was expected and what to do next. */

export interface ErrorDetails {
  /** Accepted values, or a sentence that describes them. */
  readonly expected?: readonly unknown[] | string;
  /** The next step for the person who reads the message. */
  readonly hint?: string;
  readonly cause?: unknown;
}

export abstract class RetrogradeError extends Error {
  /** The thing that failed: a setting's path, a tensor's name, a tool's name, a file. */
  readonly subject: string;
  /** The offending value, as it was given. */
  readonly value: unknown;
  readonly expected: readonly unknown[] | string | undefined;
  readonly hint: string | undefined;

  constructor(subject: string, value: unknown, { expected, hint, cause }: ErrorDetails = {}) {
    super(describe(subject, value, expected, hint), cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.subject = subject;
    this.value = value;
    this.expected = expected;
    this.hint = hint;
  }
}

/** A setting: in a file, a flag or an argument. */
export class ConfigError extends RetrogradeError {}
/** Arrays or tensors whose sizes do not fit each other. */
export class ShapeError extends RetrogradeError {}
/** A model folder: config, weights, tokenizer, chat template. */
export class ModelError extends RetrogradeError {}
/** An engine while it samples or trains. */
export class EngineError extends RetrogradeError {}
/** Training left numbers that are not finite: a result of its settings, where other errors of an engine are its own. */
export class DivergenceError extends EngineError {}
/** A tool that a model called. */
export class ToolError extends RetrogradeError {}
/** An environment: its tasks, episodes and scores. */
export class EnvError extends RetrogradeError {}
/** A measurement that has no result, since attempts ended by errors. */
export class MeasurementError extends RetrogradeError {}
/** A run folder: what a run writes and reads back. */
export class RunError extends RetrogradeError {}

/** Returns the text of what was thrown, which need not be an error, nor have a text. An error without a message has a code, or a name. */
export function reasonOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return String(thrown);
    return thrown.message || ("code" in thrown ? String(thrown.code) : thrown.name);
  } catch {
    return "something that has no text was thrown";
  }
}

/** Returns the text of why a request failed: `fetch` hides it in its error's cause. */
export function failureOf(thrown: unknown): string {
  return reasonOf(thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown);
}

function describe(subject: string, value: unknown, expected: ErrorDetails["expected"], hint: string | undefined): string {
  const sentences = [`${subject} is ${show(value)}`];
  if (expected !== undefined) sentences[0] += `; expected ${typeof expected === "string" ? expected : alternatives(expected)}`;
  if (hint !== undefined) sentences.push(hint);
  return withoutSecrets(sentences.map((s) => (/[.!?]$/.test(s) ? s : `${s}.`)).join(" "));
}

function alternatives(values: readonly unknown[]): string {
  const shown = values.map(show);
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}`;
}

function show(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (value instanceof Error) return value.message;
  const text = JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each)) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
