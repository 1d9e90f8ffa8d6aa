import { z } from "zod";
import { DeadlineError } from "../core/deadline.ts";
import { reasonOf } from "../core/errors.ts";
import { host } from "../core/host.ts";
import type { ToolCall } from "../core/messages.ts";
import { callUserCode } from "../core/user-code.ts";
import type { CallAnswer } from "../environments/environment.ts";
import { checkJson, uncheckable } from "../tools/check-json.ts";
import { cut } from "../tools/cut.ts";
import { resultText } from "../tools/result-text.ts";
import { requireJsonSchema, type Tool } from "../tools/tool.ts";

export interface ToolOutcome extends Pick<CallAnswer, "content" | "failure"> {
  /** False if the call was wrong: no such tool, or arguments that its schema refuses. */
  readonly valid: boolean;
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
    // A schema is code too: it may throw or make requests.
    const limits = { timeoutMs, signal };
    const check = () => checkArguments(tool, call.arguments);
    const args = await callUserCode(`the schema of tool "${tool.name}"`, check, limits);
    if (!args.success)
      return {
        valid: false,
        failure: "invalid",
        content: `Error: wrong arguments for ${tool.name}. ${args.problems.map((problem) => `${problem}.`).join(" ")}`,
      };
    const execute = (toolSignal: AbortSignal) => tool.execute(args.data, { signal: toolSignal });
    const result = await callUserCode(`tool "${tool.name}"`, execute, limits);
    const { text, lost } = resultText(result);
    const content = readable(cut(text, tool.maxOutput ?? defaultMaxOutput));
    return { valid: true, content, ...(lost === undefined ? {} : { failure: "lost", lost }) };
  } catch (error) {
    if (signal?.aborted) throw error;
    const problem = error instanceof DeadlineError ? `${tool.name} gave ${error.message}` : reasonOf(error);
    const failure = error instanceof DeadlineError ? "timeout" : "error";
    return { valid: true, failure, content: readable(cut(`Error: ${problem}`, tool.maxOutput ?? defaultMaxOutput)) };
  }
}

/** A text of the same length without control characters and halves of surrogate pairs, which have no place in a prompt and may be no text at all. */
function readable(text: string): string {
  return text.replace(/[^\P{Cc}\t\n\r]|\p{Cs}/gu, "\ufffd");
}

type Arguments =
  | { readonly success: true; readonly data: Record<string, unknown> }
  | { readonly success: false; readonly problems: readonly string[] };

/** A schema that cannot be checked leaves the judgement to its tool. */
const anything = z.record(z.string(), z.unknown());
const warned = new Set<string>();

function warnOnce(message: string): void {
  if (!warned.has(message)) host.warn(message);
  warned.add(message);
}

async function checkArguments({ name, parameters }: Tool, given: unknown): Promise<Arguments> {
  if (!(parameters instanceof z.ZodType)) {
    const checked = checkJson(requireJsonSchema({ name, parameters }), given);
    if (checked?.success === false) return checked;
    if (checked === undefined) warnOnce(`Arguments of ${name} are not checked: ${uncheckable(parameters)}`);
  }
  const parsed = await (parameters instanceof z.ZodType ? parameters : anything).safeParseAsync(given);
  return parsed.success ? parsed : { success: false, problems: parsed.error.issues.map(problemOf) };
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
