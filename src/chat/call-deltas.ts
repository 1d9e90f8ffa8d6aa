import type { CallFormat } from "../actions/formats/format.ts";
import { parseJson } from "../actions/json.ts";
import type { ToolCall } from "../core/messages.ts";
import { isRecord } from "../core/record.ts";

/** A further part of a message's calls: that one begins, or more of its arguments' JSON text. */
export type CallDelta =
  | { readonly kind: "call"; readonly index: number; readonly name: string }
  | { readonly kind: "arguments"; readonly index: number; readonly text: string };

/** The text before a message's first arguments, and between two calls' arguments. Each has a group for the name. */
export interface CallSyntax {
  readonly first: RegExp;
  readonly next: RegExp;
}

/** Returns how a format writes calls around their arguments; undefined if these are no JSON, and so are not known before the call's end. */
export function callSyntax(format: CallFormat): CallSyntax | undefined {
  const [name, key] = ["\ue010", "\ue011"];
  const call = { name, arguments: { [key]: 0 } };
  const [first = "", next = "", ...behind] = format
    .write({ role: "assistant", content: "", toolCalls: [call, call] })
    .split(`{"${key}": 0}`);
  if (behind.length !== 1) return undefined;
  // White space differs from model to model.
  const loose = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s*");
  const pattern = (text: string) =>
    new RegExp(`${text.trimStart().split(name).map(loose).join('([^\\s"<\\[{(]+?)')}\\s*(?=\\{)`, "y");
  return { first: pattern(first), next: pattern(next) };
}

/** Reads calls while they are written. A call that is written in another way than the format's own is left for the end of the message. */
export class CallDeltas {
  readonly #syntax: CallSyntax | undefined;
  readonly #calls: { readonly name: string; text: string }[] = [];
  #at = 0;
  #depth = 0;
  #inString = false;
  /** A comma, dropped if a closing bracket follows, and white space. */
  #buffered = "";

  constructor(syntax: CallSyntax | undefined) {
    this.#syntax = syntax;
  }

  /** @param text of the message from its first call on, longer than the last time */
  *read(text: string): Generator<CallDelta> {
    for (;;) {
      if (this.#depth === 0) {
        const pattern = this.#calls.length === 0 ? this.#syntax?.first : this.#syntax?.next;
        if (pattern === undefined) return;
        const behind = this.#calls.length === 0 ? 0 : (/^\s*/.exec(text.slice(this.#at))?.[0].length ?? 0);
        pattern.lastIndex = this.#at + behind;
        const found = pattern.exec(text);
        const name = found?.[1];
        if (name === undefined) return;
        this.#at = pattern.lastIndex;
        yield { kind: "call", index: this.#calls.push({ name, text: "" }) - 1, name };
      }
      const index = this.#calls.length - 1;
      const part = this.#arguments(text);
      const call = this.#calls[index];
      if (call !== undefined) call.text += part;
      if (part !== "") yield { kind: "arguments", index, text: part };
      if (this.#depth > 0) return;
    }
  }

  /** Calls whose start was streamed. An unreadable one has only its text. */
  calls(): ToolCall[] {
    return this.#calls.map(({ name, text }) => ({ name, ...readArguments(text) }));
  }

  /** Returns further text of the arguments, up to their last bracket. */
  #arguments(text: string): string {
    let part = "";
    while (this.#at < text.length) {
      const char = text.charAt(this.#at);
      if (this.#inString) {
        // An escaped character comes with its backslash.
        if (char === "\\" && this.#at + 1 === text.length) return part;
        if (char === "\\") part += text[this.#at++];
        else if (char === '"') this.#inString = false;
        part += text[this.#at++];
        continue;
      }
      this.#at++;
      if (char === "," || /\s/.test(char)) {
        this.#buffered += char;
        continue;
      }
      const closes = char === "}" || char === "]";
      part += (closes ? this.#buffered.replace(",", "") : this.#buffered) + char;
      this.#buffered = "";
      if (char === '"') this.#inString = true;
      if (char === "{" || char === "[") this.#depth++;
      if (closes && --this.#depth === 0) return part;
    }
    return part;
  }
}

/** The arguments of a call's JSON text. A text that is not an object has no arguments and is kept as text. */
export function readArguments(text: string): Pick<ToolCall, "arguments" | "argumentsText"> {
  const json = parseJson(text.trim() === "" ? "{}" : text);
  const value = "value" in json ? json.value : undefined;
  // Some agents send a text that they could not read as JSON of that text.
  if (typeof value === "string") return readArguments(value);
  const isObject = isRecord(value) && !Object.hasOwn(value, "__proto__");
  return { arguments: isObject ? value : {}, argumentsText: text };
}
