import { readArguments } from "../../src/chat/call-deltas.ts";
import { jsonOf } from "../../src/core/json.ts";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import { assistantMessage } from "../inference/parsed-request.ts";

/** A request of an agent and its answer, for reading. */
export interface Heard {
  readonly messages: readonly Message[];
  readonly answer: AssistantMessage;
  /** Names of the tools that the model was shown. */
  readonly tools: readonly string[];
  readonly isCut: boolean;
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number };
}

type Json = Readonly<Record<string, unknown>>;

/** A vendor's form: messages in a request's body, and those of an answer's, whole or in events. */
interface Form {
  readonly path: RegExp;
  request(body: Json, earlier: ReadonlyMap<string, readonly Message[]>): Message[];
  answer(parts: readonly Json[]): Message[];
}

/** Reads what agents say to models, in the interfaces of OpenAI, Anthropic and Google. Nothing is checked: it is for reading alone. */
export class Hearing {
  /** Conversations by the ids of answers that continue them (`previous_response_id`). */
  readonly #earlier = new Map<string, readonly Message[]>();

  /** @returns undefined for another request, and an answer without a message */
  exchange(url: string, request: string, answer: string): Heard | undefined {
    const form = forms.find(({ path }) => path.test(present(url.split("?")[0], "a path")));
    const body = jsonOf(request);
    const parts = partsOf(answer);
    if (form === undefined || !isJson(body) || parts.length === 0) return undefined;
    const messages = form.request(body, this.#earlier);
    const said = form.answer(parts).find((message): message is AssistantMessage => message.role === "assistant");
    if (said === undefined) return undefined;
    for (const part of parts) {
      const { id } = field(part, "response") ?? part;
      if (typeof id === "string" && id.startsWith("resp")) this.#earlier.set(id, [...messages, said]);
    }
    const isCut = /"(?:length|max_tokens|max_output_tokens|MAX_TOKENS)"/.test(endsIn(parts));
    return { messages, answer: said, tools: toolsIn(body), isCut, usage: usageIn(parts) };
  }
}

const forms: readonly Form[] = [
  {
    path: /\/chat\/completions$/,
    request: (body) => spoken(list(body.messages)),
    answer: (parts) => {
      const choices = parts.flatMap((part) => list(part.choices).slice(0, 1));
      const whole = choices.find((choice) => isJson(choice.message));
      return spoken([{ role: "assistant", ...(field(whole, "message") ?? merged(choices)) }]);
    },
  },
  {
    path: /\/responses$/,
    request: ({ instructions, input, previous_response_id: before }, earlier) => [
      ...(typeof instructions === "string" ? [{ role: "system", content: instructions } as const] : []),
      ...(earlier.get(String(before)) ?? []).filter(({ role }) => role !== "system" || instructions === undefined),
      ...items(typeof input === "string" ? [{ role: "user", content: input }] : list(input), earlier.get(String(before)) ?? []),
    ],
    answer: (parts) => items(list((field(parts.at(-1), "response") ?? parts.at(-1))?.output), []),
  },
  {
    path: /\/messages$/,
    request: ({ system, messages }) => [
      ...(system === undefined ? [] : [{ role: "system", content: textIn(system) } as const]),
      ...blocks(list(messages)),
    ],
    answer: (parts) => {
      const whole = parts.find(({ content }) => Array.isArray(content));
      return blocks([{ role: "assistant", content: whole?.content ?? streamedBlocks(parts) }]);
    },
  },
  {
    path: /:(?:stream)?generateContent$/i,
    request: ({ systemInstruction, contents }) => [
      ...(systemInstruction === undefined
        ? []
        : [{ role: "system", content: textIn(field({ systemInstruction }, "systemInstruction")?.parts) } as const]),
      ...turns(list(contents)),
    ],
    answer: (parts) =>
      turns([{ role: "model", parts: parts.flatMap(({ candidates }) => list(field(list(candidates)[0], "content")?.parts)) }]),
  },
];

/** Messages of chat completions. */
function spoken(messages: readonly Json[]): Message[] {
  const names = new Map<string, string>();
  return messages.map((message): Message => {
    const content = textIn(message.content ?? message.refusal);
    if (message.role === "tool" || message.role === "function")
      return { role: "tool", name: names.get(String(message.tool_call_id)) ?? String(message.name ?? "tool"), content };
    if (message.role !== "assistant") return { role: message.role === "user" ? "user" : "system", content };
    const calls = callsIn(message).map((call) => {
      const called = field(call, "function");
      names.set(String(call.id), String(called?.name));
      return callOf(called?.name, called?.arguments);
    });
    return assistant(content, calls, message.reasoning_content ?? message.reasoning);
  });
}

/** The calls of a message, or of a part of one: older clients ask for one, as `function_call`. */
const callsIn = (of: Json): Json[] => [
  ...list(of.tool_calls),
  ...fields([of], "function_call").map((call) => ({ index: 0, function: call })),
];

/** The parts of a streamed message together. */
function merged(choices: readonly Json[]): Json {
  const deltas = fields(choices, "delta");
  const text = (name: string) => deltas.map((delta) => (typeof delta[name] === "string" ? delta[name] : "")).join("");
  const calls: { id: unknown; function: { name: string; arguments: string } }[] = [];
  for (const part of deltas.flatMap(callsIn)) {
    const called = field(part, "function");
    const call = (calls[Number(part.index ?? calls.length)] ??= { id: part.id, function: { name: "", arguments: "" } });
    call.function.name += String(called?.name ?? "");
    call.function.arguments += String(called?.arguments ?? "");
  }
  return {
    content: text("content"),
    reasoning_content: text("reasoning_content") || text("reasoning"),
    tool_calls: calls.filter(Boolean),
  };
}

/** Items of the interface Responses: what follows each other of the assistant's is one message. */
function items(given: readonly Json[], before: readonly Message[]): Message[] {
  const names = new Map<string, string>();
  for (const message of before)
    if (message.role === "assistant") for (const { id, name } of message.toolCalls ?? []) names.set(String(id), name);
  const messages: Message[] = [];
  let said: { text: string; reasoning: string; calls: ToolCall[] } | undefined;
  const close = () => {
    if (said !== undefined) messages.push(assistant(said.text, said.calls, said.reasoning));
    said = undefined;
  };
  const speak = () => (said ??= { text: "", reasoning: "", calls: [] });
  for (const item of given) {
    if (item.type === "function_call") {
      names.set(String(item.call_id), String(item.name));
      speak().calls.push({ id: String(item.call_id), ...callOf(item.name, item.arguments) });
    } else if (item.type === "reasoning") speak().reasoning = textIn(item.content ?? item.summary);
    else if (item.role === "assistant") speak().text += textIn(item.content);
    else {
      close();
      if (item.type === "function_call_output")
        messages.push({ role: "tool", name: names.get(String(item.call_id)) ?? "tool", content: textIn(item.output) });
      else if (item.role !== undefined)
        messages.push({ role: item.role === "user" ? "user" : "system", content: textIn(item.content) });
    }
  }
  close();
  return messages;
}

/** Messages of Anthropic's interface: results of tools are in the user's. */
function blocks(messages: readonly Json[]): Message[] {
  const names = new Map<string, string>();
  return messages.flatMap(({ role, content }): Message[] => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
    const text = textIn(parts.filter(({ type }) => type === "text"));
    if (role === "assistant") {
      const calls = parts.filter(({ type }) => type === "tool_use");
      for (const { id, name } of calls) names.set(String(id), String(name));
      return [
        assistant(
          text,
          calls.map(({ name, input }) => callOf(name, input)),
          parts.map(({ thinking }) => thinking ?? "").join(""),
        ),
      ];
    }
    const results = parts.filter(({ type }) => type === "tool_result");
    return [
      ...results.map(
        (part): Message => ({ role: "tool", name: names.get(String(part.tool_use_id)) ?? "tool", content: textIn(part.content) }),
      ),
      ...(text === "" && results.length > 0 ? [] : [{ role: "user", content: text } as const]),
    ];
  });
}

function streamedBlocks(events: readonly Json[]): Json[] {
  const found: { type: unknown; text: string; thinking: string; name: unknown; id: unknown; input: unknown; json: string }[] = [];
  for (const event of events) {
    const start = field(event, "content_block");
    if (start !== undefined) {
      const { type, name, id, input } = start;
      found[Number(event.index)] = { text: String(start.text ?? ""), thinking: "", json: "", type, name, id, input };
    }
    const [block, delta] = [found[Number(event.index)], field(event, "delta")];
    if (block === undefined || delta === undefined) continue;
    block.text += String(delta.text ?? "");
    block.thinking += String(delta.thinking ?? "");
    block.json += String(delta.partial_json ?? "");
  }
  return found.filter(Boolean).map(({ json, input, ...block }) => ({ ...block, input: json === "" ? input : json }));
}

/** Contents of Gemini's interface. */
function turns(contents: readonly Json[]): Message[] {
  return contents.flatMap(({ role, parts }): Message[] => {
    const all = list(parts);
    const text = textIn(all.filter(({ thought }) => thought !== true));
    const calls = fields(all, "functionCall");
    if (role === "model")
      return [
        assistant(
          text,
          calls.map(({ name, args }) => callOf(name, args)),
          textIn(all.filter(({ thought }) => thought === true)),
        ),
      ];
    const results = fields(all, "functionResponse");
    return [
      ...results.map(({ name, response }): Message => ({ role: "tool", name: String(name), content: JSON.stringify(response) })),
      ...(text === "" && results.length > 0 ? [] : [{ role: "user", content: text } as const]),
    ];
  });
}

function assistant(content: string, calls: readonly ToolCall[], reasoning: unknown): AssistantMessage {
  return assistantMessage(content, typeof reasoning === "string" ? reasoning : undefined, calls);
}

function callOf(name: unknown, args: unknown): ToolCall {
  return { name: String(name), ...readArguments(typeof args === "string" ? args : JSON.stringify(args ?? {})) };
}

/** The text of a message or its parts; for other content its type. */
function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map((part) =>
      typeof part.text === "string"
        ? part.text
        : typeof part.refusal === "string"
          ? part.refusal
          : part.type === undefined
            ? ""
            : `[${part.type}]`,
    )
    .join("");
}

/** An answer's body, or the data of its events. */
function partsOf(answer: string): Json[] {
  const whole = jsonOf(answer);
  if (Array.isArray(whole)) return whole.filter(isJson);
  if (isJson(whole)) return [whole];
  return answer.split(/\r?\n/).flatMap((line) => {
    const event = line.startsWith("data:") ? jsonOf(line.slice(5).trim()) : undefined;
    return isJson(event) ? [event] : [];
  });
}

function toolsIn({ tools, functions }: Json): string[] {
  return [...list(tools), ...list(functions)]
    .flatMap((tool) => [tool, ...list(tool.functionDeclarations)].flatMap((each) => (field(each, "function") ?? each).name ?? []))
    .map(String);
}

const tokenFields = [
  ["prompt_tokens", "input_tokens", "promptTokenCount"],
  ["completion_tokens", "output_tokens", "candidatesTokenCount"],
] as const;

/** Tokens as the server counted them; in events the newest count. */
function usageIn(parts: readonly Json[]): Heard["usage"] {
  const holders = parts.flatMap((part) => [part, ...fields([part], "response"), ...fields([part], "message")]);
  const counted = [...fields(holders, "usage"), ...fields(holders, "usageMetadata")];
  const [promptTokens, completionTokens] = tokenFields.map((names) =>
    counted.flatMap((usage) => names.map((name) => usage[name])).findLast((value) => typeof value === "number" && value > 0),
  );
  return typeof promptTokens === "number" ? { promptTokens, completionTokens: Number(completionTokens ?? 0) } : undefined;
}

/** Why an answer ended, in any vendor's fields. */
function endsIn(parts: readonly Json[]): string {
  const of = (part: Json | undefined) => [
    part?.finish_reason,
    part?.finishReason,
    part?.stop_reason,
    field(part, "incomplete_details")?.reason,
  ];
  return JSON.stringify(
    parts.flatMap((part) =>
      [part, field(part, "delta"), field(part, "response"), list(part.choices)[0], list(part.candidates)[0]].flatMap(of),
    ),
  );
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

function field(of: Json | undefined, name: string): Json | undefined {
  const value = of?.[name];
  return isJson(value) ? value : undefined;
}

function fields(of: readonly Json[], name: string): Json[] {
  return of.map((each) => field(each, name)).filter((value) => value !== undefined);
}
