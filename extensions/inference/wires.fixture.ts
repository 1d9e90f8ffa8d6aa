import type { ConversationReply } from "../../src/chat/conversation.ts";
import { Context } from "../../src/core/context.ts";
import type { WireState } from "./parsed-request.ts";

/** Two tokens, whose texts are "t2" and "t3". */
export const replyOf = (message: object, finish: "stop" | "length" = "stop"): ConversationReply => ({
  message: { role: "assistant", content: "", ...message },
  ...{ finish, promptTokens: 5, completionTokens: 2 },
  sampled: { context: Context.of([1]), action: [2, 3], logprobs: [-1, -2] },
});

export const stateOf = (query = ""): WireState => ({
  ...{ id: "1", created: 7, query: new URLSearchParams(query), kept: new Map<string, unknown>() },
  decode: (tokens) => tokens.map((token) => `t${token}`).join(""),
});

/** Parameters of a tool. */
export const titled = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };
