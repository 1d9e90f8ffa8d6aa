import { Template } from "@huggingface/jinja";
import { ModelError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import { parametersAsJsonSchema, type Tool } from "../tools/tool.ts";

/**
 * A chat template's text for a conversation, with the prompt for the assistant's next message at its end if it `awaitsAssistant`.
 * @throws ModelError if the template refuses the messages
 */
export type Render = (messages: readonly Message[], tools: readonly Tool[], awaitsAssistant: boolean) => string;

/**
 * @param namedTokens what the template may refer to, such as `bos_token`
 * @param quote what is done to texts that others wrote, see control-tokens.ts
 * @throws ModelError if the template does not parse
 */
export function compileTemplate(
  source: string,
  namedTokens: Readonly<Record<string, string>>,
  quote: (text: string) => string = (text) => text,
): Render {
  const template = refusals("chat template", () => new Template(source));
  const describedTools = new WeakMap<readonly Tool[], unknown>();
  const toolsForTemplate = (tools: readonly Tool[]): unknown => {
    const described = describedTools.get(tools) ?? quotedStrings(describeTools(tools), quote);
    describedTools.set(tools, described);
    return described;
  };
  const render: Render = (messages, tools, awaitsAssistant) =>
    refusals("what the chat template answered", () =>
      template.render({
        ...namedTokens,
        messages: messages.map((message) => describeMessage(message, quote)),
        tools: tools.length === 0 ? undefined : toolsForTemplate(tools),
        add_generation_prompt: awaitsAssistant,
      }),
    );
  return isPlainLoop(template.parsed.body) ? renderEachOnce(render) : render;
}

const rememberedMessages = 20_000;

/** For a template that renders each message by itself: equal messages, of which rollouts have many, are rendered once. */
function renderEachOnce(render: Render): Render {
  const known = new Map<string, string>();
  const textOf = (message: Message): string => {
    const key = JSON.stringify(message);
    const found = known.get(key) ?? render([message], [], false);
    if (known.size >= rememberedMessages) known.clear();
    known.set(key, found);
    return found;
  };
  const prompt = render([], [], true);
  return (messages, _tools, awaitsAssistant) => messages.map(textOf).join("") + (awaitsAssistant ? prompt : "");
}

/**
 * True if a parsed template is one loop over the messages, whose body looks at nothing but the message and keeps nothing,
 * and then at most the generation prompt. It errs on the side of false.
 */
function isPlainLoop(statements: readonly object[]): boolean {
  const [loop, ending, ...rest] = statements as readonly Readonly<Record<string, unknown>>[];
  if (rest.length > 0 || loop?.type !== "For") return false;
  if (!isIdentifier(loop.iterable, "messages")) return false;
  const outside = ["loop", "messages", "tools", "namespace", "add_generation_prompt", "strftime_now", "raise_exception"];
  const keeping = ["Set", "Macro", "CallStatement", "Break", "Continue"];
  const looksOutside = (node: Readonly<Record<string, unknown>>) =>
    keeping.includes(String(node.type)) || outside.some((name) => isIdentifier(node, name));
  if (someNode(loop.body, looksOutside) || !isEmpty(loop.defaultBlock)) return false;
  if (ending === undefined) return true;
  return (
    ending.type === "If" &&
    isIdentifier(ending.test, "add_generation_prompt") &&
    isEmpty(ending.alternate) &&
    !someNode(ending.body, looksOutside)
  );
}

function isIdentifier(node: unknown, name: string): boolean {
  return (
    typeof node === "object" &&
    node !== null &&
    "type" in node &&
    node.type === "Identifier" &&
    "value" in node &&
    node.value === name
  );
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function someNode(value: unknown, holds: (node: Readonly<Record<string, unknown>>) => boolean): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => someNode(item, holds));
  return holds(value as Record<string, unknown>) || Object.values(value).some((child) => someNode(child, holds));
}

/** Messages in the form that the templates of the Hugging Face hub expect. */
function describeMessage(message: Message, quote: (text: string) => string): Record<string, unknown> {
  if (message.role === "system") return { ...message }; // the environment's own words
  if (message.role !== "assistant") return { ...message, content: quote(message.content) };
  const { role, content, reasoning, toolCalls } = message;
  return {
    role,
    content,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(toolCalls === undefined || toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map((call) => ({ type: "function", function: { name: call.name, arguments: call.arguments } })),
        }),
  };
}

function describeTools(tools: readonly Tool[]): unknown {
  return tools.map((tool) => ({
    type: "function",
    function: { name: tool.name, description: tool.description, parameters: parametersAsJsonSchema(tool) },
  }));
}

/** Every string inside of a value, quoted: names and descriptions of tools may come from a server. */
function quotedStrings(value: unknown, quote: (text: string) => string): unknown {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return value.map((item) => quotedStrings(item, quote));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, quotedStrings(inner, quote)]));
}

function refusals<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new ModelError(what, cause instanceof Error ? cause.message : String(cause), {
      hint: "Compare the messages with the roles and the order that the model's chat template accepts.",
      cause,
    });
  }
}
