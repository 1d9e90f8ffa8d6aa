import type { CallAnswer } from "../../../src/environments/environment.ts";
import { cut } from "../../../src/tools/cut.ts";
import { errorText } from "../shared/tool.ts";
import type { OpenenvSettings } from "./settings.ts";
import { toolErrorSchema } from "./wire.ts";

/**
 * Writes an observation as the model reads it: one text as it is, anything else as JSON. Metadata is the environment's own and left out, and so
 * is what is null.
 */
export function observationText(
  observation: Readonly<Record<string, unknown>>,
  { show, maxOutput }: Pick<OpenenvSettings, "show" | "maxOutput">,
): string {
  const names = show ?? Object.keys(observation).filter((name) => name !== "metadata");
  const shown = names.filter((name) => observation[name] !== undefined && observation[name] !== null);
  const values = shown.map((name) => observation[name]);
  const text =
    values.length === 1 && typeof values[0] === "string"
      ? values[0]
      : JSON.stringify(Object.fromEntries(shown.map((name, i) => [name, values[i]])));
  return cut(text, maxOutput);
}

/** Writes the observation of a tool call: the tool's own result, or why there is none. */
export function toolAnswer(
  observation: Readonly<Record<string, unknown>>,
  settings: Pick<OpenenvSettings, "show" | "maxOutput">,
): Pick<CallAnswer, "content" | "valid" | "failure"> {
  const { tool_name: _, result, error, metadata: __, ...rest } = observation;
  const failed = toolErrorSchema.safeParse(error);
  if (failed.success) {
    const { error_type: kind, message } = failed.data;
    const wrong = kind === "invalid_args" || kind === "tool_not_found";
    return {
      content: cut(errorText(message), settings.maxOutput),
      ...(wrong ? { valid: false, failure: "invalid" as const } : { failure: kind === "timeout" ? "timeout" : "error" }),
    };
  }
  // Environments of tools may add fields of their own, such as the question that comes next.
  const extra = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined));
  const { text, isError } = resultText(result);
  const all = Object.keys(extra).length === 0 ? text : `${text}\n${observationText(extra, settings)}`;
  return { content: cut(all.trimStart(), settings.maxOutput), ...(isError ? { failure: "error" as const } : {}) };
}

/** Reads a result as FastMCP writes it (`content`, `structured_content`, `is_error`), or any other value. */
function resultText(result: unknown): { readonly text: string; readonly isError: boolean } {
  if (typeof result === "string") return { text: result, isError: false };
  if (result === null || result === undefined) return { text: "", isError: false };
  const { content, is_error: isError } = result as { readonly content?: unknown; readonly is_error?: unknown };
  if (!Array.isArray(content)) return { text: JSON.stringify(result), isError: false };
  return { text: content.map(blockText).join("\n"), isError: isError === true };
}

function blockText(block: unknown): string {
  const { type, text, data } = (block ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof text === "string") return text;
  return typeof data === "string" ? `[${String(type)}, ${data.length} characters: not shown]` : JSON.stringify(block);
}
