import { readArguments } from "../../src/chat/call-deltas.ts";
import type { ConversationReply, ConversationRequest } from "../../src/chat/conversation.ts";
import { shownTools } from "../../src/chat/reply.ts";
import type { Completion } from "../../src/completions/answer.ts";
import { CompletionError } from "../../src/completions/errors.ts";
import { Context } from "../../src/core/context.ts";
import { RetrogradeError, reasonOf } from "../../src/core/errors.ts";
import type { AssistantMessage } from "../../src/core/messages.ts";
import { described, describedTool, ToolNames } from "../../src/rollouts/actors/endpoint-messages.ts";
import { HttpError } from "../http/http-error.ts";
import { noThreads } from "../inference/anthropic-messages.ts";
import type { ChatModel, ConverseOptions, InferenceModel } from "../inference/model.ts";
import { assistantMessage } from "../inference/parsed-request.ts";
import { unknownRoute } from "../inference/server.ts";
import type { Exchange } from "./demonstrations.ts";
import { newKey, serveByKey } from "./keys.ts";
import type { TeacherUsage } from "./record-file.ts";
import type { RelayedAttempt } from "./relay.ts";
import type { AskedTeacher, TeacherMessage, TeacherRequest } from "./scripted-teacher.ts";

export interface TaughtAttempt extends Omit<RelayedAttempt, "exchanges"> {
  /** In the order of the requests. */
  exchanges(): Exchange[];
  usage(): TeacherUsage;
}

/** A teacher, as agents reach it by any vendor's interface, each attempt with a key of its own. */
export interface Teacher {
  /** With `/v1`. */
  readonly baseUrl: string;
  open(): TaughtAttempt;
  /** Why every further request would fail too: a wrong key, address or name. Undefined if none would. */
  stopped(): string | undefined;
  close(): Promise<void>;
}

const tooLongCode = "context_length_exceeded";
export const noUsage: TeacherUsage = { requests: 0, promptTokens: 0, completionTokens: 0, unreported: 0 };

export async function openTeacher(teacher: AskedTeacher): Promise<Teacher> {
  const byKey = new Map<string, InferenceModel>();
  const server = await serveByKey(byKey);
  let stopped: string | undefined;
  const open = (): TaughtAttempt => {
    const apiKey = newKey();
    const ended = new AbortController();
    const names = new ToolNames();
    const exchanges: (Exchange | undefined)[] = [];
    const usage = { ...noUsage };
    let answered = 0;
    let fault: string | undefined;
    const converse = async (request: ConversationRequest, options: ConverseOptions): Promise<ConversationReply> => {
      const place = exchanges.push(undefined) - 1;
      usage.requests++;
      const body = bodyOf(teacher, request, options, names);
      let completion: Completion;
      try {
        const signal = AbortSignal.any([options.signal, ended.signal]);
        completion = await teacher.ask(body, signal);
        fault = undefined;
      } catch (error) {
        if (!(error instanceof CompletionError)) throw error;
        // A conversation that has grown too long is the agent's doing.
        if (error.failure === "context") throw tooLong(error);
        fault = reasonOf(error);
        if (error.failure === "settings") stopped = fault;
        throw new HttpError(400, "the teacher's answer", fault, { cause: error });
      } finally {
        answered++;
      }
      const { usage: counted } = completion;
      usage.promptTokens += counted?.promptTokens ?? 0;
      usage.completionTokens += counted?.completionTokens ?? 0;
      if (counted === undefined) usage.unreported++;
      const reply = replyOf(completion, names);
      const { messages } = request;
      exchanges[place] = { messages, tools: shownTools(request), answer: reply.message, isCut: reply.finish === "length" };
      emit(reply.message, request);
      return reply;
    };
    // A request that was never passed on says nothing of the agent. It may do without what an endpoint of messages does not have.
    const refused = (error: unknown) => {
      const { code } = error instanceof HttpError ? error : {};
      const isStray = code === unknownRoute || code === noThreads || code === tooLongCode;
      if (error instanceof RetrogradeError && !isStray) fault ??= `a request of the agent was refused: ${reasonOf(error)}`;
    };
    byKey.set(apiKey, messageModel(converse, refused));
    return {
      apiKey,
      exchanges: () => exchanges.filter((exchange) => exchange !== undefined),
      usage: () => ({ ...usage }),
      fault: () => fault ?? (answered === 0 && usage.requests > 0 ? "no answer of the teacher to the first request" : undefined),
      end: () => {
        byKey.delete(apiKey);
        ended.abort();
      },
    };
  };
  return { baseUrl: `${server.baseUrl}/v1`, open, stopped: () => stopped, close: () => server.close() };
}

function tooLong(cause: CompletionError): HttpError {
  const expected = "a conversation that the teacher's context holds";
  return new HttpError(400, "messages", reasonOf(cause), { expected, code: tooLongCode, cause });
}

/** The model has no tokens that anybody here knows. */
export function messageModel(converse: ChatModel["converse"], refused: ChatModel["refused"]): InferenceModel {
  const none = (what: string) => () => {
    throw new HttpError(400, what, "asked for", { expected: "messages alone: its tokens are not known here" });
  };
  const chat = { decode: () => "", count: none("a count of tokens"), converse, refused };
  return { maxLength: Number.MAX_SAFE_INTEGER, vocabularySize: 0, chat, sample: none("an answer in token ids") };
}

/** The agent's request, with all that it asks of the model. @throws HttpError (400) for what no endpoint of messages has */
function bodyOf(
  { name, limitField: limit }: AskedTeacher,
  request: ConversationRequest,
  { sampling, continuesLast, index }: ConverseOptions,
  names: ToolNames,
): TeacherRequest {
  if (continuesLast === true)
    throw new HttpError(400, "continue_final_message", true, { expected: "false: an agent's messages are whole" });
  if (index > 0) throw new HttpError(400, "n", index + 1, { expected: "1: a demonstration has one answer" });
  if (request.topLogprobs) throw new HttpError(400, "top_logprobs", request.topLogprobs, { expected: "none of a teacher" });
  const { messages, toolChoice = "auto", parallelCalls = true, strictTools = [], form, maxTokens, stopStrings = [] } = request;
  const tools = shownTools(request).map((tool) => {
    const shown = describedTool(tool, names) as { readonly function: object };
    return strictTools.includes(tool.name) ? { ...shown, function: { ...shown.function, strict: true } } : shown;
  });
  const forced =
    typeof toolChoice === "object" ? { type: "function", function: { name: names.shown(toolChoice.tool) } } : toolChoice;
  const { temperature, topP, topK, seed, others } = sampling;
  const given = {
    ...{ temperature, top_p: topP, top_k: topK, seed, [limit]: maxTokens },
    stop: stopStrings.length === 0 ? undefined : stopStrings,
    response_format:
      typeof form === "object"
        ? { type: "json_schema", json_schema: { name: "answer", schema: form.schema } }
        : form && { type: "json_object" },
    ...others,
  };
  return {
    model: name,
    messages: messages.map((message) => described(message, names) as unknown as TeacherMessage),
    ...(tools.length === 0 ? {} : { tools, ...(forced === "auto" ? {} : { tool_choice: forced }) }),
    ...(tools.length === 0 || parallelCalls ? {} : { parallel_tool_calls: false }),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  };
}

/** The answer, with its calls as they were written: the agent hears what it would hear from the endpoint. */
function replyOf({ content, reasoning, calls, finish, usage }: Completion, names: ToolNames): ConversationReply {
  const toolCalls = calls.map((call) => ({ name: names.meant(call.name), ...readArguments(call.arguments) }));
  return {
    ...wholeReply(assistantMessage(content, reasoning, toolCalls), usage),
    finish: finish === "length" ? "length" : "stop",
  };
}

export function wholeReply(message: AssistantMessage, usage?: Completion["usage"]): ConversationReply {
  return {
    ...{ message, finish: "stop", promptTokens: usage?.promptTokens ?? 0, completionTokens: usage?.completionTokens ?? 0 },
    sampled: { context: Context.of([]), action: [], logprobs: [] },
  };
}

/** Streams a message in one part each: it is whole when it comes. */
export function emit({ reasoning = "", content, toolCalls = [] }: AssistantMessage, { onDelta }: ConversationRequest): void {
  if (reasoning !== "") onDelta?.({ kind: "reasoning", text: reasoning, tokens: [] });
  if (content !== "") onDelta?.({ kind: "text", text: content, tokens: [] });
  for (const [index, { name, arguments: args, argumentsText }] of toolCalls.entries()) {
    onDelta?.({ kind: "call", index, name, tokens: [] });
    onDelta?.({ kind: "arguments", index, text: argumentsText ?? JSON.stringify(args), tokens: [] });
  }
}
