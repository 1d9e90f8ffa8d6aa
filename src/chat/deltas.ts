import type { AssistantMessage } from "../core/messages.ts";
import type { DrawnToken, TokenId } from "../core/trajectory.ts";
import { CallDeltas, type CallSyntax } from "./call-deltas.ts";
import type { Delta, DeltaPart } from "./conversation.ts";

export interface DeltaOptions {
  readonly decode: (tokens: readonly TokenId[]) => string;
  readonly emit: (delta: Delta) => void;
  /** Texts at which the message ends. */
  readonly stops: readonly string[];
  /** How calls begin; undefined if there are no tools. A message with tools has no white space at the ends of its text. */
  readonly opening: string | undefined;
  /** How calls are written, where they can be read before they end. */
  readonly syntax: CallSyntax | undefined;
  /** True if the context ends inside of reasoning. */
  readonly thinking: boolean;
}

const [open, close] = ["<think>", "</think>"];
/** Tokens before a new one that decide how it is decoded. */
const window = 6;

/** Gives a message's text and calls as its tokens are drawn. What may turn out to be none of the text (a stop string, a call) waits. */
export class Deltas {
  readonly #options: DeltaOptions;
  readonly #calls: CallDeltas;
  readonly #tokens: TokenId[] = [];
  /** Tokens since the last delta. */
  #drawn: DrawnToken[] = [];
  #text = "";
  /** Tokens whose text is in `#text`. */
  #decoded = 0;
  readonly #sent = { text: "", reasoning: "" };

  constructor(options: DeltaOptions) {
    this.#options = options;
    this.#calls = new CallDeltas(options.syntax);
  }

  /** Number of tokens that were pushed. */
  get length(): number {
    return this.#tokens.length;
  }

  push(drawn: DrawnToken): void {
    const { decode, stops } = this.#options;
    this.#tokens.push(drawn.token);
    this.#drawn.push(drawn);
    const from = Math.max(0, this.#decoded - window);
    const known = decode(this.#tokens.slice(from, this.#decoded));
    const longer = decode(this.#tokens.slice(from));
    // Bytes of a character that is not whole yet.
    if (longer.endsWith("\ufffd") || !longer.startsWith(known)) return;
    this.#text += longer.slice(known.length);
    this.#decoded = this.#tokens.length;
    const { reasoning, answer } = this.#parts();
    this.#send("reasoning", withoutBeginning(reasoning, [close]).trim());
    const { text, calls } = this.#split(upTo(answer, stops));
    this.#send("text", text);
    for (const part of this.#calls.read(calls)) this.#emit(part);
  }

  /**
   * Gives what is left of the message.
   * @returns the message as it was given: a call of which a part was given stays a call, even if it cannot be read
   */
  end(message: AssistantMessage): AssistantMessage {
    const given = this.#calls.calls();
    const { toolCalls: read = [] } = message;
    if (read.length < given.length) {
      const { text: content, reasoning } = this.#sent;
      return { role: "assistant", content, ...(reasoning === "" ? {} : { reasoning }), toolCalls: given };
    }
    this.#send("reasoning", message.reasoning ?? "");
    this.#send("text", message.content);
    for (const [index, call] of read.entries()) {
      if (index < given.length) continue;
      this.#emit({ kind: "call", index, name: call.name });
      this.#emit({ kind: "arguments", index, text: call.argumentsText ?? JSON.stringify(call.arguments) });
    }
    return given.length === 0 ? message : { ...message, toolCalls: [...given, ...read.slice(given.length)] };
  }

  #parts(): { readonly reasoning: string; readonly answer: string } {
    const begins = this.#text.trimStart();
    const isOpened = begins.startsWith(open);
    // A beginning of the tag is nothing yet, nor is white space before it.
    if (!isOpened && open.startsWith(begins)) return { reasoning: "", answer: "" };
    if (!isOpened && !this.#options.thinking) return { reasoning: "", answer: this.#text };
    const rest = isOpened ? begins.slice(open.length) : this.#text;
    const at = rest.indexOf(close);
    if (at === -1) return { reasoning: rest, answer: "" };
    return { reasoning: rest.slice(0, at), answer: rest.slice(at + close.length).trimStart() };
  }

  #split(answer: string): { readonly text: string; readonly calls: string } {
    const { opening } = this.#options;
    if (opening === undefined) return { text: answer, calls: "" };
    const at = answer.indexOf(opening);
    if (at === -1) return { text: withoutBeginning(answer, [opening]).trim(), calls: "" };
    return { text: answer.slice(0, at).trim(), calls: answer.slice(at) };
  }

  #send(kind: "text" | "reasoning", text: string): void {
    const added = text.slice(this.#sent[kind].length);
    if (added === "") return;
    this.#sent[kind] = text;
    this.#emit({ kind, text: added });
  }

  #emit(part: DeltaPart): void {
    this.#options.emit({ ...part, tokens: this.#drawn });
    this.#drawn = [];
  }
}

/** The text up to the first of its ends, and without what may be the beginning of one. */
function upTo(text: string, ends: readonly string[]): string {
  const found = ends.map((end) => text.indexOf(end)).filter((at) => at !== -1);
  return found.length > 0 ? text.slice(0, Math.min(...found)) : withoutBeginning(text, ends);
}

/** The text without an end that is the beginning of one of the others. */
function withoutBeginning(text: string, others: readonly string[]): string {
  const longest = Math.max(0, ...others.map(({ length }) => length - 1));
  for (let count = Math.min(longest, text.length); count > 0; count--)
    if (others.some((other) => other.startsWith(text.slice(-count)))) return text.slice(0, -count);
  return text;
}
