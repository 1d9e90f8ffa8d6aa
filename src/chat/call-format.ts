import type { ReadAction } from "../actions/action.ts";
import type { CallFormat } from "../actions/formats/format.ts";
import { hermes } from "../actions/formats/hermes.ts";
import { callFormat, callFormatNames, callFormats } from "../actions/formats/registry.ts";
import { ModelError, reasonOf } from "../core/errors.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import type { Tool } from "../tools/tool.ts";
import type { CallStyle, Render } from "./template.ts";

/** The format of a template's calls, and how they are given to it. Or why it is not known. */
export type FoundFormat =
  | { readonly format: CallFormat; readonly style: CallStyle }
  | { readonly rendered: string; readonly problem: string; readonly hasCalls: boolean };

const call = { name: "find_contact", arguments: { name: "Ana", limit: 5 } } as const;
const question: readonly Message[] = [{ role: "user", content: "Who is Ana?" }];
const probe: AssistantMessage = { role: "assistant", content: "", toolCalls: [call] };
const tools: readonly Tool[] = [
  {
    name: call.name,
    description: "Finds a person.",
    parameters: { type: "object", properties: { name: { type: "string" }, limit: { type: "integer" } } },
    execute: () => "",
  },
];

/**
 * Finds how a model calls tools, by rendering one call with its chat template and reading it back.
 * @param renderIn the template, with calls given in a style
 * @param stopTexts of the tokens that end a turn
 */
export function findCallFormat(renderIn: (style: CallStyle) => Render, stopTexts: readonly string[]): FoundFormat {
  let rendered = "";
  let problem = "";
  // Some templates put arguments together with other text, and so need them as text.
  for (const style of ["objects", "text"] as const) {
    try {
      const text = withoutEnd(renderedCall(renderIn(style)), stopTexts);
      const format = callFormats.find((candidate) => candidate.marks.test(text) && isTheCall(candidate.read(text, [])));
      if (format !== undefined) return { format, style };
      rendered ||= text;
    } catch (error) {
      problem ||= reasonOf(error);
    }
  }
  const hasCalls = rendered.includes(call.name);
  return { rendered, hasCalls, problem: hasCalls ? "calls in an unknown format" : problem || "no calls at all" };
}

/** True if a template's prompt with tools is another one than without. */
export function showsTools(render: Render): boolean {
  try {
    return render(question, tools, true) !== render(question, [], true);
  } catch {
    return true; // it has something to say about them
  }
}

/**
 * The format that a setting names, or that was found.
 * @throws ModelError if the template calls in another format than the setting says
 */
export function settledFormat(found: FoundFormat, name: string | undefined): FoundFormat {
  const wanted = name === undefined ? undefined : callFormat(name);
  if (wanted === undefined) return found;
  if ("problem" in found) return { format: wanted, style: "content" };
  if (found.format.name === wanted.name) return found;
  throw new ModelError("chat.format", wanted.name, {
    expected: `"${found.format.name}", the format of the model's own template`,
    hint: "Leave the setting out: it is for templates that show no calls.",
  });
}

/** The format whose calls have the most of a tokenizer's own tokens: a model was probably taught it. Hermes if none has any. */
export function likelyFormat(addedTokens: readonly string[]): CallFormat {
  const marks = addedTokens.filter((token) => /[^\s▁]{4}/.test(token));
  const count = (format: CallFormat) => {
    const text = format.write(probe);
    return marks.filter((mark) => text.includes(mark)).length;
  };
  return [hermes, ...callFormats].reduce((best, format) => (count(format) > count(best) ? format : best));
}

/** @param likely named in the advice @throws ModelError if the format is unknown */
export function requireFormat(found: FoundFormat, likely?: string): CallFormat {
  if ("format" in found) return found.format;
  throw new ModelError("tool calls of the chat template", found.problem === "no calls at all" ? found.problem : found.rendered, {
    expected: `one of the formats ${callFormatNames.join(", ")}`,
    hint:
      `Rendered with a call, the template shows ${found.problem}. Its answers could not be read, and every reward would be 0. ` +
      "Choose an instruct model whose template shows calls, or name the format that the model was taught with the setting chat.format" +
      (likely === undefined ? "." : `: by its tokens probably ${likely} (--set chat.format=${likely}).`),
  });
}

/** The text between the question and the end of the conversation. */
function renderedCall(render: Render): string {
  const before = render(question, tools, false);
  const text = render([...question, probe], tools, false);
  let shared = 0;
  while (shared < before.length && before[shared] === text[shared]) shared++;
  return text.slice(shared);
}

/** Up to the last end of turn, which closes the message. */
function withoutEnd(text: string, stopTexts: readonly string[]): string {
  const end = Math.max(...stopTexts.map((stop) => text.lastIndexOf(stop)));
  return end === -1 ? text : text.slice(0, end);
}

function isTheCall({ calls }: ReadAction): boolean {
  const [read, ...more] = calls;
  if (read === undefined || more.length > 0 || !("name" in read) || read.name !== call.name) return false;
  return Object.entries(call.arguments).every(([name, value]) => String(read.arguments[name]) === String(value));
}
