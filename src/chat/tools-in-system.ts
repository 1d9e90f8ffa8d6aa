import type { CallFormat } from "../actions/formats/format.ts";
import { hermes, smollm2 } from "../actions/formats/hermes.ts";
import type { Message } from "../core/messages.ts";
import { parametersAsJsonSchema, type Tool } from "../tools/tool.ts";
import type { Render } from "./template.ts";

/**
 * Renders a template that knows nothing of tools: they are written into the system message, with the format of calls. Calls are written into the
 * content, and results are messages of the user between `<tool_response>` tags, as Hermes and Qwen have them.
 * @param render with calls in the style "content"
 * @param quote changes texts that others wrote, see control-tokens.ts
 */
export function withToolsInSystem(render: Render, format: CallFormat, quote: (text: string) => string): Render {
  const described = new WeakMap<readonly Tool[], string>();
  const describe = (tools: readonly Tool[]): string => {
    const found = described.get(tools) ?? toolsText(tools, format, quote);
    described.set(tools, found);
    return found;
  };
  return (messages, tools, awaitsAssistant) =>
    render(tools.length === 0 ? resultsAsUser(messages) : shown(resultsAsUser(messages), describe(tools)), [], awaitsAssistant);
}

/** The tools behind the environment's own system message, or as one where it has none. */
function shown(messages: readonly Message[], text: string): Message[] {
  const [first, ...rest] = messages;
  return first?.role === "system"
    ? [{ ...first, content: `${first.content}\n\n${text}` }, ...rest]
    : [{ role: "system", content: text }, ...messages];
}

/** Results of one action are one message: templates such as Gemma's demand that user and assistant take turns. */
function resultsAsUser(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  let results: string[] = [];
  const flush = () => {
    if (results.length > 0) out.push({ role: "user", content: results.join("\n") });
    results = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      results.push(`<tool_response>\n${message.content}\n</tool_response>`);
      continue;
    }
    flush();
    out.push(message);
  }
  flush();
  return out;
}

/** A call in the format's own words, with names that say what belongs there. */
const example = { name: "function_name", arguments: { argument: "value" } } as const;

function toolsText(tools: readonly Tool[], format: CallFormat, quote: (text: string) => string): string {
  const signatures = tools.map((tool) =>
    quote(JSON.stringify({ name: tool.name, description: tool.description, parameters: parametersAsJsonSchema(tool) })),
  );
  const call = format.write({ role: "assistant", content: "", toolCalls: [example] });
  return format === smollm2
    ? `You have access to the following tools:\n<tools>[${signatures.join(", ")}]</tools>\n\nThe format of calls is as follows.\n${call}`
    : `You may call these functions:\n<tools>\n${signatures.join("\n")}\n</tools>\n\nWrite a call like this:\n${call}`;
}

/** The format that a family whose template shows neither tools nor calls was trained in. Most were trained in Hermes'. */
export function trainedFormat(chatTemplate: string): CallFormat {
  return /\bSmolLM\b/.test(chatTemplate) ? smollm2 : hermes;
}
