import { Template } from "@huggingface/jinja";
import type { CallFormat } from "../actions/formats/format.ts";
import { jsonText, markedArguments, unmarked } from "../actions/json.ts";
import { ModelError, reasonOf } from "../core/errors.ts";
import { host, TimeLimitError } from "../core/host.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import { parametersAsJsonSchema, type Tool } from "../tools/tool.ts";
import { loopAsPython, withGenerationTags } from "./python-jinja.ts";
import { printAsPython, pythonFunctions } from "./python-text.ts";
import { withinMemory } from "./template-memory.ts";

/**
 * A chat template's text for a conversation, with the prompt for the assistant's next message at its end if it `awaitsAssistant`.
 * @throws ModelError if the template refuses the messages
 */
export type Render = (messages: readonly Message[], tools: readonly Tool[], awaitsAssistant: boolean) => string;

/** How calls are given to a template: arguments as objects, or as JSON text; or written into the content, where it shows no calls. */
export type CallStyle = "objects" | "text" | "content";

export interface TemplateOptions {
  /** Default "objects". */
  readonly style?: CallStyle;
  /** The call format of the style "content". */
  readonly format?: CallFormat;
  /** The variables that the template may refer to besides, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Changes texts that others wrote, see control-tokens.ts. Default: nothing. */
  readonly quote?: (text: string) => string;
}

interface DescribeOptions extends Pick<TemplateOptions, "format">, Required<Pick<TemplateOptions, "style" | "quote">> {
  /** True for ids that the template takes. */
  readonly isId: (id: string) => boolean;
}

/**
 * @param namedTokens what the template may refer to, such as `bos_token`
 * @throws ModelError if the template does not parse
 */
export function compileTemplate(
  source: string,
  namedTokens: Readonly<Record<string, string>>,
  { style = "objects", format, variables = {}, quote = (text) => text }: TemplateOptions = {},
): Render {
  const template = refusals("chat template", () => {
    if (source.length > longestTemplate) throw new Error(`${source.length} characters, more than ${longestTemplate}`);
    return new Template(withGenerationTags(source.replaceAll("\r\n", "\n")));
  });
  const isLoop = isPlainLoop(template.parsed.body);
  // Mistral's templates refuse other ids than those of nine letters and digits.
  const isNine = /length != 9\b/.test(source);
  const isId = (id: string) => !isNine || /^[A-Za-z0-9]{9}$/.test(id);
  printAsPython(template.parsed);
  renameRange(template.parsed);
  loopAsPython(template.parsed);
  const describedTools = new WeakMap<readonly Tool[], unknown>();
  const toolsForTemplate = (tools: readonly Tool[]): unknown => {
    const described = describedTools.get(tools) ?? quotedStrings(describeTools(tools), quote);
    describedTools.set(tools, described);
    return described;
  };
  const render: Render = (messages, tools, awaitsAssistant) =>
    refusals("what the chat template answered", () =>
      unmarked(
        withinMemory(() =>
          template.render({
            [rangeName]: boundedRange,
            documents: null,
            ...namedTokens,
            ...variables,
            ...pythonFunctions,
            messages: describeMessages(messages, { style, format, quote, isId }),
            // As transformers names them where there are none.
            tools: tools.length === 0 ? null : toolsForTemplate(tools),
            add_generation_prompt: awaitsAssistant,
          }),
        ),
      ),
    );
  return isLoop ? renderEachOnce(render) : render;
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
  const outside = ["loop", "messages", "tools", "namespace", "add_generation_prompt", "strftime_now", "id", "tool_call_id"];
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

/**
 * Messages in the form that the templates of the Hugging Face hub expect. Calls without an id that the template takes get one of their turn and
 * position, nine letters and digits, as Mistral's templates demand; so do their answers.
 */
function describeMessages(messages: readonly Message[], options: DescribeOptions): object[] {
  const { quote, isId } = options;
  const made = new Map<string, string>();
  let turn = -1;
  let position = 0;
  let unanswered: string[] = [];
  const idOf = (at: number) => `c${String(turn).padStart(4, "0")}${String(at).padStart(4, "0")}`;
  return messages.map((message) => {
    if (message.role === "assistant") {
      turn++;
      position = message.toolCalls?.length ?? 0;
      unanswered = (message.toolCalls ?? []).map(({ id }, i) => {
        if (id === undefined || isId(id)) return id ?? idOf(i);
        made.set(id, idOf(i));
        return idOf(i);
      });
      return describeAnswer(message, unanswered, options);
    }
    if (message.role === "system") return { ...message }; // the environment's own words
    if (message.role === "user") return { ...message, content: quote(message.content) };
    const { role, name, content, callId } = message;
    // An unreadable call has no place among the calls of its message.
    const answered = name === unreadableName ? undefined : unanswered.shift();
    const given = callId === undefined ? undefined : (made.get(callId) ?? (isId(callId) ? callId : undefined));
    return { role, name, content: quote(content), tool_call_id: given ?? answered ?? idOf(position++) };
  });
}

/** The name of answers to calls that could not be read. */
export const unreadableName = "tool_call";

function describeAnswer(message: AssistantMessage, ids: readonly string[], { style, format }: DescribeOptions): object {
  const { role, reasoning, toolCalls = [] } = message;
  if (style === "content" && format !== undefined && toolCalls.length > 0) return { role, content: format.write(message) };
  const calls = toolCalls.map((call, i) => ({
    type: "function",
    id: ids[i],
    function: { name: call.name, arguments: style === "text" ? jsonText(call) : markedArguments(call) },
  }));
  return {
    role,
    content: message.content,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning, thinking: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
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

/** Templates of published models have up to 20,000 characters, and take milliseconds. */
const longestTemplate = 2 ** 20;
const longestRange = 100_000;
/**
 * The time of all renderings together, in milliseconds: of those that open a model, and of those of one conversation. Of published models one took
 * 4 s for 500 turns; a machine that is busy with others takes ten times as long.
 */
export const templateMs = { opening: 10_000, conversation: 60_000 } as const;

/** A time, and what is left of it. */
export interface TemplateTime {
  readonly all: number;
  left: number;
}

let budget: TemplateTime = { all: templateMs.conversation, left: templateMs.conversation };

/** Runs work whose renderings take their time of this one. */
export function withinTemplateTime<T>(time: TemplateTime, work: () => T): T {
  const before = budget;
  budget = time;
  try {
    return work();
  } finally {
    budget = before;
  }
}

/** Jinja's own `range` makes a list of any length at once, which would fill the memory before any time is over. */
function boundedRange(start: number, stop?: unknown, step?: unknown): number[] {
  const [from, to] = typeof stop === "number" ? [start, stop] : [0, start];
  const by = typeof step === "number" ? step : 1;
  const length = Math.max(0, Math.ceil((to - from) / by));
  if (!(length <= longestRange)) throw new Error(`range() of ${length} numbers, more than ${longestRange}`);
  return Array.from({ length }, (_, i) => from + i * by);
}

const rangeName = "bounded_range";

/** Lets a parsed template call `boundedRange`: its own name is taken by Jinja's. */
function renameRange(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node && node.type === "CallExpression" && "callee" in node && isIdentifier(node.callee, "range"))
    node.callee = { ...(node.callee as object), value: rangeName };
  for (const child of Object.values(node)) renameRange(child);
}

function refusals<T>(what: string, run: () => T): T {
  const [own, start] = [budget, performance.now()];
  try {
    return host.interruptAfter(Math.max(1, Math.ceil(own.left)), run);
  } catch (error) {
    const cause = error instanceof TimeLimitError ? new TimeLimitError(own.all) : error;
    throw new ModelError(what, reasonOf(cause), {
      hint: "Compare the messages with the roles and the order that the model's chat template accepts.",
      cause,
    });
  } finally {
    own.left -= performance.now() - start;
  }
}
