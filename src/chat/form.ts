import { ModelError, reasonOf } from "../core/errors.ts";
import { jsonOf } from "../core/json.ts";
import type { AssistantMessage, ToolCall } from "../core/messages.ts";
import { checkJson, uncheckable } from "../tools/check-json.ts";
import { parametersAsJsonSchema } from "../tools/tool.ts";
import type { Formed } from "./grammar.ts";

/**
 * Whether a message has the form of its request, where no grammar holds all of it.
 * @throws ModelError for a schema that cannot be checked
 */
export function hasForm({ tools = [], toolChoice, parallelCalls, strictTools = [], form }: Formed, message: AssistantMessage) {
  const { content, toolCalls: calls = [] } = message;
  const forced = typeof toolChoice === "object" ? toolChoice.tool : undefined;
  const isForced = tools.length > 0 && (forced !== undefined || toolChoice === "required");
  const fitting = ({ name, arguments: args }: ToolCall) => {
    const tool = tools.find((each) => each.name === name && (forced ?? name) === name);
    return tool !== undefined && isOfSchema(parametersAsJsonSchema(tool), args);
  };
  if (isForced && calls.length === 0) return false;
  if (parallelCalls === false && calls.length > 1) return false;
  if (!calls.every((call) => !(isForced || strictTools.includes(call.name)) || fitting(call))) return false;
  if (form === undefined || calls.length > 0) return true;
  const value = jsonOf(content);
  return value !== undefined && isOfSchema(form === "json" ? { type: "object" } : form.schema, value);
}

/** Whether a JSON text has no number beyond the doubles, such as 1e999, which grammars of numbers allow. True for a text that is cut off. */
export function isFiniteJson(text: string): boolean {
  let finite = true;
  try {
    JSON.parse(text, (_, value) => {
      if (typeof value === "number" && !Number.isFinite(value)) finite = false;
      return value;
    });
  } catch {
    return true;
  }
  return finite;
}

function isOfSchema(schema: Readonly<Record<string, unknown>>, value: unknown): boolean {
  let checked: ReturnType<typeof checkJson>;
  try {
    checked = checkJson(schema, value);
  } catch (cause) {
    throw new ModelError("schema", "a pattern", { expected: "one that can be checked", hint: reasonOf(cause), cause });
  }
  if (checked !== undefined) return checked.success;
  throw new ModelError("schema", JSON.stringify(schema).slice(0, 200), {
    expected: "one that can be checked",
    hint: uncheckable(schema),
  });
}
