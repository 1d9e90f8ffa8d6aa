import type { ToolCall } from "../../core/messages.ts";
import { type ReadAnswer, readReasoned, type SchemaOf, type UnreadableCall } from "../action.ts";
import { callOf, dumps, markedArguments, unmarked } from "../json.ts";
import { typedJson } from "../typed.ts";
import { type CallFormat, stackedCalls } from "./format.ts";

/** A value as text: strings as they are, anything else as JSON. */
function plain(value: unknown): string {
  return unmarked(typeof value === "string" ? value : dumps(value));
}

type Pairs = readonly (readonly [string, string])[];
/** The JSON text of a value that is written without quotes. */
type TypeValue = (tool: string, argument: string, value: string) => string;

/** Types values by their schema. @param untyped what a value is whose schema has no type */
function typedBy(schemaOf: SchemaOf | undefined, untyped: "text" | "json"): TypeValue {
  return (tool, argument, value) => typedJson(value, schemaOf?.(tool), argument, untyped);
}

function callOfPairs(name: string, pairs: Pairs, typed: TypeValue, example: string): ToolCall | UnreadableCall {
  const members = pairs.map(([key, value]) => `${JSON.stringify(key)}: ${typed(name, key, value)}`);
  return callOf(name, `{${members.join(", ")}}`, example);
}

const qwenExample = "<tool_call>\n<function=NAME>\n<parameter=ARGUMENT>\nVALUE\n</parameter>\n</function>\n</tool_call>";

/**
 * Reads Qwen3-Coder and Qwen3.5: `<function=name>` with a `<parameter=…>` for each argument. The tags around may be missing, and the
 * closing tags of all but a last argument.
 */
function readQwen(answer: string, typed: TypeValue): ReadAnswer {
  const start = answer.search(/<tool_call>|<function=/);
  if (start === -1) return { content: answer, calls: [] };
  const [, ...functions] = answer.slice(start).split("<function=");
  if (functions.length === 0)
    return { content: answer, calls: [{ error: `This tool call has no function. Write ${qwenExample}.` }] };
  const content = [answer.slice(0, start)];
  const calls = functions.map((block) => {
    // A value may name the closing tags: the last ones end it.
    const end = block.indexOf("</function>", block.lastIndexOf("</parameter>") + 1);
    const isClosed = end !== -1;
    if (isClosed) content.push(block.slice(end + "</function>".length).replace(/<\/?tool_call>/g, ""));
    const [, name, rest = ""] = /^([^>\s]*)\s*>([\s\S]*)$/.exec(isClosed ? block.slice(0, end) : block) ?? [];
    if (!name) return { error: `This tool call has no name. Write ${qwenExample}.` };
    const [, ...parts] = rest.split("<parameter=");
    const pairs: (readonly [string, string])[] = [];
    for (const [i, part] of parts.entries()) {
      const [, key, value = "", closing] =
        /^([^>]*)>([\s\S]*)(<\/parameter>)/.exec(part) ?? /^([^>]*)>([\s\S]*)$/.exec(part) ?? [];
      const isLast = i === parts.length - 1;
      if (key === undefined || (closing === undefined && isLast && !isClosed))
        return { error: `An argument of ${name} has no end. Write ${qwenExample}.` };
      pairs.push([key.trim(), value.replace(/^\n/, "").replace(/\n$/, "")]);
    }
    return callOfPairs(name, pairs, typed, qwenExample);
  });
  return { content: calls.some((call) => "error" in call) ? answer : content.join(""), calls };
}

export const qwen3Coder: CallFormat = {
  name: "qwen3-coder",
  models: "Qwen3-Coder, Qwen3.5",
  marks: /<function=[^>]+>/,
  read: (text, _, schemaOf) => readReasoned(text, (answer) => readQwen(answer, typedBy(schemaOf, "text"))),
  write: (message) =>
    stackedCalls(message, (call) => {
      const parameters = Object.entries(markedArguments(call)).map(
        ([key, value]) => `<parameter=${key}>\n${plain(value)}\n</parameter>\n`,
      );
      return `<tool_call>\n<function=${call.name}>\n${parameters.join("")}</function>\n</tool_call>`;
    }),
};

const glmExample = "<tool_call>NAME\n<arg_key>ARGUMENT</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>";

/** Reads GLM 4.5 and later: the name, then a key and a value for each argument. */
function readGlm(answer: string, typed: TypeValue): ReadAnswer {
  const [before, ...blocks] = answer.split("<tool_call>");
  const content = [before];
  const calls = blocks.map((block): ToolCall | UnreadableCall => {
    // A value may name the closing tag.
    const end = block.indexOf("</tool_call>", block.lastIndexOf("</arg_value>") + 1);
    const body = end === -1 ? block : block.slice(0, end);
    const behind = end === -1 ? "" : block.slice(end + "</tool_call>".length);
    const name = body.split("<arg_key>")[0]?.trim() ?? "";
    const pairs = [...body.matchAll(/<arg_key>([\s\S]*?)<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>/g)];
    content.push(behind);
    if (name === "" || /\s/.test(name)) return { error: `This tool call has no name. Write ${glmExample}.` };
    if (body.split("<arg_key>").length - 1 > pairs.length || (pairs.length === 0 && end === -1))
      return { error: `The call of ${name} has no end. Write ${glmExample}.` };
    return callOfPairs(
      name,
      pairs.map(([, key = "", value = ""]) => [key.trim(), value] as const),
      typed,
      glmExample,
    );
  });
  return { content: calls.some((call) => "error" in call) ? answer : content.join(""), calls };
}

export const glm: CallFormat = {
  name: "glm",
  models: "GLM 4.5 and later",
  marks: /<tool_call>[^<{[]+<arg_key>/,
  read: (text, _, schemaOf) => readReasoned(text, (answer) => readGlm(answer, typedBy(schemaOf, "json"))),
  write: (message) =>
    stackedCalls(message, (call) => {
      const pairs = Object.entries(markedArguments(call)).map(
        ([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${plain(value)}</arg_value>\n`,
      );
      return `<tool_call>${call.name}\n${pairs.join("")}</tool_call>`;
    }),
};
