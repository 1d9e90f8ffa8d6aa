import { messageOf, type ReadAction } from "../../actions/action.ts";
import { callOf } from "../../actions/json.ts";
import type { Completion } from "../../completions/answer.ts";
import type { Message } from "../../core/messages.ts";
import { parametersAsJsonSchema, type Tool } from "../../tools/tool.ts";

/** Names of tools as chat endpoints take them: at most 64 letters, digits, "_" and "-". Other names get such a one for the server alone. */
export class ToolNames {
  readonly #shown = new Map<string, string>();
  readonly #meant = new Map<string, string>();

  shown(name: string): string {
    const known = this.#shown.get(name);
    if (known !== undefined) return known;
    const plain = name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 60) || "tool";
    let free = /^[\w-]{1,64}$/.test(name) ? name : plain;
    for (let i = 2; this.#meant.has(free); i++) free = `${plain}_${i}`;
    this.#shown.set(name, free);
    this.#meant.set(free, name);
    return free;
  }

  meant(shown: string): string {
    return this.#meant.get(shown) ?? shown;
  }
}

/** Reads an answer's text and calls. @param turn makes ids of calls that have none */
export function readNative({ content, reasoning, calls }: Completion, names: ToolNames, turn: number): ReadAction {
  const read = calls.map(({ id = `call_${turn}`, name: shown, arguments: text }, i) => {
    const name = names.meant(shown);
    const call = callOf(name, text, `arguments of ${name} as a JSON object`);
    // An answer belongs to one call: ids that a server gives twice are made different.
    const taken = calls.findIndex((other) => (other.id ?? `call_${turn}`) === id) !== i;
    return "error" in call ? call : { id: taken ? `${id}_${i}` : id, ...call };
  });
  return messageOf(content, read, reasoning);
}

/** A message as the protocol has it. */
export interface DescribedMessage {
  readonly role: Message["role"];
  readonly [field: string]: unknown;
}

/** Returns a message as the protocol has it. */
export function described(message: Message, names: ToolNames): DescribedMessage {
  if (message.role === "tool") return { role: "tool", tool_call_id: message.callId ?? "", content: message.content };
  if (message.role !== "assistant") return { role: message.role, content: message.content };
  const { role, content, toolCalls = [] } = message;
  const calls = toolCalls.map(({ id, name, arguments: args, argumentsText }) => ({
    id,
    type: "function",
    function: { name: names.shown(name), arguments: argumentsText ?? JSON.stringify(args) },
  }));
  return { role, content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

export function describedTool(tool: Tool, names: ToolNames): object {
  const { name, description } = tool;
  return { type: "function", function: { name: names.shown(name), description, parameters: parametersAsJsonSchema(tool) } };
}

/**
 * Puts back the stop string that the server removed from the end of an action, since it belongs to the action: the one that the server names, or
 * the closing tag of the last tag that is open.
 */
export function withStopString({ content, finish, stoppedBy }: Completion, stopStrings: readonly string[]): string {
  if (finish !== "stop" || stopStrings.some((stop) => content.includes(stop))) return content;
  if (stoppedBy !== undefined && stopStrings.includes(stoppedBy)) return content + stoppedBy;
  const open = stopStrings
    .filter((stop) => stop.startsWith("</"))
    .map((stop) => ({ stop, at: content.lastIndexOf(`<${stop.slice(2)}`) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => b.at - a.at);
  return content + (open[0]?.stop ?? "");
}
