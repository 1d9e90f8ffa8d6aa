import { z } from "zod";

/**
 * A provider of the AI SDK, for models that an agent names by a string. It implements the version 3 of the SDK's models, which ai 6 and ai 7
 * take. Source: @ai-sdk/provider 3, LanguageModelV3. A stream of it has each answer in one piece.
 */
export function aiSdkProvider(url: string, modelId: string) {
  const model = {
    specificationVersion: "v3" as const,
    provider: "retrograde",
    modelId,
    supportedUrls: {},
    doGenerate: (options: CallOptions) => generate(url, modelId, options),
    doStream: async (options: CallOptions) => ({ stream: streamOf(await generate(url, modelId, options)) }),
  };
  return { specificationVersion: "v3" as const, languageModel: () => model };
}

interface CallOptions {
  readonly prompt: readonly PromptMessage[];
  readonly tools?: readonly {
    readonly type: string;
    readonly name: string;
    readonly description?: string;
    readonly inputSchema: unknown;
  }[];
  readonly toolChoice?: { readonly type: "auto" | "none" | "required" } | { readonly type: "tool"; readonly toolName: string };
  readonly responseFormat?: { readonly type: string; readonly schema?: unknown };
  readonly maxOutputTokens?: number;
  readonly stopSequences?: readonly string[];
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly abortSignal?: AbortSignal;
}

interface PromptMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly PromptPart[];
}

type PromptPart =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "tool-call"; readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly output: { readonly type: string; readonly value: unknown };
    };

const answerSchema = z.object({
  choices: z.array(
    z.object({
      finish_reason: z.string(),
      message: z.object({
        content: z.string(),
        reasoning_content: z.string().optional(),
        tool_calls: z
          .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
          .default([]),
      }),
    }),
  ),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }),
});

const finishReasons: Readonly<Record<string, string>> = { tool_calls: "tool-calls", stop: "stop", length: "length" };

async function generate(url: string, model: string, options: CallOptions) {
  const { tools = [], toolChoice, responseFormat, temperature, topP, seed, abortSignal } = options;
  const strict = responseFormat?.type === "json" && responseFormat.schema !== undefined;
  const body = {
    model,
    messages: options.prompt.flatMap(described),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ type, name, description, inputSchema: parameters }) => ({
            type,
            function: { name, description, parameters },
          })),
          tool_choice:
            toolChoice?.type === "tool" ? { type: "function", function: { name: toolChoice.toolName } } : toolChoice?.type,
        }),
    ...(strict
      ? { response_format: { type: "json_schema", json_schema: { name: "answer", schema: responseFormat.schema } } }
      : {}),
    ...(responseFormat?.type === "json" && !strict ? { response_format: { type: "json_object" } } : {}),
    ...{ max_tokens: options.maxOutputTokens, stop: options.stopSequences, temperature, top_p: topP, seed },
  };
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal: abortSignal });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  const { choices, usage } = answerSchema.parse(JSON.parse(text));
  const [{ message, finish_reason: raw }] = choices;
  return {
    content: [
      ...(message.reasoning_content ? [{ type: "reasoning" as const, text: message.reasoning_content }] : []),
      ...(message.content === "" ? [] : [{ type: "text" as const, text: message.content }]),
      ...message.tool_calls.map((call) => ({
        ...{ type: "tool-call" as const, toolCallId: call.id, toolName: call.function.name, input: call.function.arguments },
      })),
    ],
    finishReason: { unified: finishReasons[raw] ?? "other", raw },
    usage: {
      inputTokens: { total: usage.prompt_tokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: usage.completion_tokens, text: undefined, reasoning: undefined },
    },
    warnings: [],
  };
}

/** A message as Chat Completions have it. */
function described({ role, content }: PromptMessage): object[] {
  if (typeof content === "string") return [{ role, content }];
  const texts = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (role === "tool")
    return content.flatMap((part) =>
      part.type === "tool-result" ? [{ role, tool_call_id: part.toolCallId, content: resultText(part.output) }] : [],
    );
  const calls = content.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    const args = typeof part.input === "string" ? part.input : JSON.stringify(part.input);
    return [{ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: args } }];
  });
  const known = content.every(({ type }) => ["text", "reasoning", "tool-call"].includes(type));
  if (!known) throw new Error("The model takes text alone: the prompt has other parts.");
  return [{ role, content: texts, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
}

function resultText({ value }: { readonly value: unknown }): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function streamOf({ content, finishReason, usage }: Awaited<ReturnType<typeof generate>>) {
  const parts = content.flatMap((part, i): object[] => {
    if (part.type === "tool-call") return [part];
    const id = String(i);
    const named = (step: string) => ({ type: `${part.type}-${step}`, id });
    return [named("start"), { ...named("delta"), delta: part.text }, named("end")];
  });
  return new ReadableStream({
    start: (controller) => {
      const all = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
      for (const part of all) controller.enqueue(part);
      controller.close();
    },
  });
}
