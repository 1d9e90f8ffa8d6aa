import type { ToolCall } from "../../core/messages.ts";
import { messageOf, type ReadAction, type UnreadableCall } from "../action.ts";
import { callOf, jsonText } from "../json.ts";
import type { CallFormat } from "./format.ts";

const example = "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>";
const ends = /<\|(?:call|end|return)\|>\s*$/;

/**
 * Reads OpenAI's harmony: messages of one turn, each with a header (its channel, and the function that it goes to) and a body. The channel
 * "analysis" is reasoning, "final" the answer, "commentary" without a recipient a preamble.
 */
function read(text: string): ReadAction {
  const calls: (ToolCall | UnreadableCall)[] = [];
  const content: string[] = [];
  const reasoning: string[] = [];
  for (const part of text.split("<|start|>")) {
    const at = part.indexOf("<|message|>");
    const header = at === -1 ? part : part.slice(0, at);
    const body = (at === -1 ? "" : part.slice(at + "<|message|>".length)).replace(ends, "");
    const recipient = /to=(?:functions\.)?([^\s<]+)/.exec(header)?.[1];
    const channel = /<\|channel\|>\s*(\w+)/.exec(header)?.[1];
    if (at === -1) {
      if (recipient !== undefined) calls.push({ error: `The call of ${recipient} has no message. Write ${example}.` });
      else if (channel === undefined) content.push(part.replace(ends, "").replace(/^assistant$/, ""));
    } else if (recipient !== undefined) calls.push(callOf(recipient, body, example));
    else if (channel === "analysis") reasoning.push(body.trim());
    else content.push(body);
  }
  return messageOf(content.join("\n"), calls, reasoning.length === 0 ? undefined : reasoning.join("\n"));
}

/** A turn begins behind `<|start|>assistant`, which the generation prompt has. */
function write({ content, reasoning, toolCalls = [] }: Parameters<CallFormat["write"]>[0]): string {
  const messages = [
    ...(reasoning === undefined ? [] : [`<|channel|>analysis<|message|>${reasoning}`]),
    ...(content === "" ? [] : [`<|channel|>${toolCalls.length === 0 ? "final" : "commentary"}<|message|>${content}`]),
    ...toolCalls.map((call) => `<|channel|>commentary to=functions.${call.name} <|constrain|>json<|message|>${jsonText(call)}`),
  ];
  return messages.join("<|end|><|start|>assistant");
}

export const gptOss: CallFormat = {
  name: "gpt-oss",
  models: "gpt-oss (harmony)",
  marks: /to=functions\.[\s\S]*<\|message\|>/,
  stopStrings: ["<|call|>", "<|return|>"],
  read,
  write,
};
