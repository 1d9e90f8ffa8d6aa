import type { ToolCall } from "../../core/messages.ts";
import { messageOf, type ReadAction, type SchemaOf, splitReasoning, type UnreadableCall } from "../action.ts";
import { callOf, dumps, markedArguments, unmarked } from "../json.ts";
import { typedJson } from "../typed.ts";
import { type CallFormat, stacked, thought } from "./format.ts";

/** A value as text: strings as they are, anything else as JSON. */
function plain(value: unknown): string {
  return unmarked(typeof value === "string" ? value : dumps(value));
}

type Pairs = readonly (readonly [string, string])[];

function callOfPairs(name: string, pairs: Pairs, schemaOf: SchemaOf | undefined, example: string): ToolCall | UnreadableCall {
  const members = pairs.map(([key, value]) => `${JSON.stringify(key)}: ${typedJson(value, name, key, schemaOf)}`);
  return callOf(name, `{${members.join(", ")}}`, example);
}

const qwenExample = "<tool_call>\n<function=NAME>\n<parameter=ARGUMENT>\nVALUE\n</parameter>\n</function>\n</tool_call>";

/** Reads Qwen3-Coder and Qwen3.5: `<function=name>` with a `<parameter=…>` for each argument; the tags around may be missing. */
function readQwen(text: string, schemaOf?: SchemaOf): ReadAction {
  const { reasoning, answer } = splitReasoning(text);
  const start = answer.search(/<tool_call>|<function=/);
  if (start === -1) return messageOf(answer, [], reasoning);
  const body = answer.slice(start);
  const functions = body.split("<function=").slice(1);
  if (functions.length === 0)
    return messageOf(answer, [{ error: `This tool call has no function. Write ${qwenExample}.` }], reasoning);
  const calls = functions.map((block) => {
    // A value may name the closing tags: the last ones end it.
    const end = block.indexOf("</function>", block.lastIndexOf("</parameter>") + 1);
    const [, name = "", rest = ""] = /^([^>\s]*)\s*>([\s\S]*)$/.exec(end === -1 ? block : block.slice(0, end)) ?? [];
    if (name === "") return { error: `This tool call has no name. Write ${qwenExample}.` };
    const pairs = rest
      .split("<parameter=")
      .slice(1)
      .flatMap((part): Pairs => {
        const [, key, value] = /^([^>]*)>([\s\S]*)<\/parameter>/.exec(part) ?? /^([^>]*)>([\s\S]*)$/.exec(part) ?? [];
        return key === undefined ? [] : [[key.trim(), value.replace(/^\n/, "").replace(/\n$/, "")]];
      });
    return callOfPairs(name, pairs, schemaOf, qwenExample);
  });
  const behind = body.slice(Math.max(body.lastIndexOf("</function>"), body.lastIndexOf("</tool_call>")));
  const content =
    answer.slice(0, start) + behind.replace(/^<\/function>\s*|<\/?tool_call>/g, "").replace(/^<function=[\s\S]*/, "");
  return messageOf(calls.some((call) => "error" in call) ? answer : content, calls, reasoning);
}

export const qwen3Coder: CallFormat = {
  name: "qwen3-coder",
  models: "Qwen3-Coder, Qwen3.5",
  marks: /<function=[^>]+>/,
  read: (text, _, schemaOf) => readQwen(text, schemaOf),
  write: (message) =>
    stacked(
      thought(message),
      message.content,
      ...(message.toolCalls ?? []).map((call) => {
        const parameters = Object.entries(markedArguments(call)).map(
          ([key, value]) => `<parameter=${key}>\n${plain(value)}\n</parameter>\n`,
        );
        return `<tool_call>\n<function=${call.name}>\n${parameters.join("")}</function>\n</tool_call>`;
      }),
    ),
};

const glmExample = "<tool_call>NAME\n<arg_key>ARGUMENT</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>";

/** Reads GLM 4.5 and later: the name, then a key and a value for each argument. */
function readGlm(text: string, schemaOf?: SchemaOf): ReadAction {
  const { reasoning, answer } = splitReasoning(text);
  const [before, ...blocks] = answer.split("<tool_call>");
  const content = [before];
  const calls = blocks.map((block): ToolCall | UnreadableCall => {
    // A value may name the closing tag.
    const end = block.indexOf("</tool_call>", block.lastIndexOf("</arg_value>") + 1);
    const [body, behind] = end === -1 ? [block, ""] : [block.slice(0, end), block.slice(end + "</tool_call>".length)];
    const name = body.split("<arg_key>")[0].trim();
    const pairs = [...body.matchAll(/<arg_key>([\s\S]*?)<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>/g)];
    content.push(behind);
    if (name === "" || /\s/.test(name)) return { error: `This tool call has no name. Write ${glmExample}.` };
    if (body.split("<arg_key>").length - 1 > pairs.length)
      return { error: `An argument of ${name} has no end. Write ${glmExample}.` };
    return callOfPairs(
      name,
      pairs.map(([, key, value]) => [key.trim(), value] as const),
      schemaOf,
      glmExample,
    );
  });
  return messageOf(calls.some((call) => "error" in call) ? answer : content.join(""), calls, reasoning);
}

export const glm: CallFormat = {
  name: "glm",
  models: "GLM 4.5 and later",
  marks: /<tool_call>[^<{[]+<arg_key>/,
  read: (text, _, schemaOf) => readGlm(text, schemaOf),
  write: (message) =>
    stacked(
      thought(message),
      message.content,
      ...(message.toolCalls ?? []).map((call) => {
        const pairs = Object.entries(markedArguments(call)).map(
          ([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${plain(value)}</arg_value>\n`,
        );
        return `<tool_call>${call.name}\n${pairs.join("")}</tool_call>`;
      }),
    ),
};
