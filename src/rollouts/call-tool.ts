import { z } from "zod";
import { DeadlineError } from "../core/deadline.ts";
import { reasonOf } from "../core/errors.ts";
import { callForeign } from "../core/foreign.ts";
import type { ToolCall } from "../core/messages.ts";
import type { ToolFailure } from "../core/trajectory.ts";
import { checkJson } from "../tools/check-json.ts";
import { cut } from "../tools/cut.ts";
import { resultText } from "../tools/result-text.ts";
import { requireJsonSchema, type Tool } from "../tools/tool.ts";

export interface ToolOutcome {
  /** The text that the model reads. */
  readonly content: string;
  /** False if the call was wrong: no such tool, or arguments that its schema refuses. */
  readonly valid: boolean;
  /** Why there is no result, or not all of it: the arguments are wrong, the tool raised an error, gave no answer in time, or no JSON. */
  readonly failure?: ToolFailure["kind"];
  /** The part of the result that JSON cannot hold. */
  readonly lost?: string;
}

const defaultTimeoutMs = 10_000;
const defaultMaxOutput = 20_000;

/**
 * Makes a model's tool call. Whatever goes wrong with it is reported to the model, never thrown.
 * @throws the signal's reason, once it is aborted
 */
export async function callTool(tools: readonly Tool[], call: ToolCall, signal?: AbortSignal): Promise<ToolOutcome> {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    return {
      valid: false,
      content: `Error: there is no tool "${call.name}". The tools are ${tools.map(({ name }) => name).join(", ")}.`,
    };
  }
  const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
  try {
    // A schema is code too: it may throw, or ask somebody.
    const limits = { timeoutMs, signal };
    const check = () => checkArguments(tool, call.arguments);
    const args = await callForeign(`the schema of tool "${tool.name}"`, check, limits);
    if (!args.success)
      return {
        valid: false,
        failure: "invalid",
        content: `Error: wrong arguments for ${tool.name}. ${describeIssues(args.error)}`,
      };
    const execute = (toolSignal: AbortSignal) => tool.execute(args.data, { signal: toolSignal });
    const result = await callForeign(`tool "${tool.name}"`, execute, limits);
    const { text, lost } = resultText(result);
    const content = cut(readable(text), tool.maxOutput ?? defaultMaxOutput);
    return { valid: true, content, ...(lost === undefined ? {} : { failure: "lost", lost }) };
  } catch (error) {
    if (signal?.aborted) throw error;
    const problem = error instanceof DeadlineError ? `${tool.name} gave ${error.message}` : reasonOf(error);
    const failure = error instanceof DeadlineError ? "timeout" : "error";
    return { valid: true, failure, content: cut(readable(`Error: ${problem}`), tool.maxOutput ?? defaultMaxOutput) };
  }
}

/** Without control characters and halves of surrogate pairs, which have no place in a prompt and may be no text at all. */
function readable(text: string): string {
  return text.replace(/[^\P{Cc}\t\n\r]|\p{Cs}/gu, "\ufffd");
}

type Checked = z.ZodSafeParseResult<Record<string, unknown>>;

/** A schema beyond what zod can convert checks nothing: its tool has to judge for itself. */
const anything = z.record(z.string(), z.unknown());

function checkArguments({ name, parameters }: Tool, given: unknown): Checked | Promise<Checked> {
  if (parameters instanceof z.ZodType) return parameters.safeParseAsync(given);
  return (checkJson(requireJsonSchema({ name, parameters }), given) as Checked | undefined) ?? anything.safeParse(given);
}

function describeIssues(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length === 0 ? `${message}.` : `${path.join(".")}: ${message}.`))
    .join(" ");
}
