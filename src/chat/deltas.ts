import type { AssistantMessage } from "../core/messages.ts";
import type { TokenId } from "../core/trajectory.ts";
import type { Delta } from "./conversation.ts";

export interface DeltaOptions {
  readonly decode: (tokens: readonly TokenId[]) => string;
  readonly emit: (delta: Delta) => void;
  /** Texts at which the message's text may end: stop strings, and how a call begins. */
  readonly ends: readonly string[];
  /** True if the message's text has no white space at its ends. */
  readonly trimmed: boolean;
  /** True if the context ends inside of reasoning. */
  readonly thinking: boolean;
}

const [open, close] = ["<think>", "</think>"];
/** Tokens before a new one that decide how it is decoded. */
const window = 6;

/** Gives a message's text as its tokens are drawn. What may turn out to be none of it (a stop string, a call) waits. */
export class Deltas {
  readonly #options: DeltaOptions;
  readonly #tokens: TokenId[] = [];
  #text = "";
  /** Tokens whose text is in `#text`. */
  #decoded = 0;
  readonly #sent = { text: 0, reasoning: 0 };

  constructor(options: DeltaOptions) {
    this.#options = options;
  }

  push(token: TokenId): void {
    const { decode } = this.#options;
    this.#tokens.push(token);
    const from = Math.max(0, this.#decoded - window);
    const known = decode(this.#tokens.slice(from, this.#decoded));
    const longer = decode(this.#tokens.slice(from));
    // Bytes of a character that is not whole yet.
    if (longer.endsWith("\ufffd") || !longer.startsWith(known)) return;
    this.#text += longer.slice(known.length);
    this.#decoded = this.#tokens.length;
    const { reasoning, answer } = this.#parts();
    this.#send("reasoning", withoutBeginning(reasoning, [close]).trim());
    this.#send("text", this.#settled(answer));
  }

  /** Gives what is left of the message. */
  end({ content, reasoning = "" }: AssistantMessage): void {
    this.#send("reasoning", reasoning);
    this.#send("text", content);
  }

  #parts(): { readonly reasoning: string; readonly answer: string } {
    const begins = this.#text.trimStart();
    // A beginning of the tag is no answer yet.
    if (!this.#options.thinking && !begins.startsWith(open))
      return { reasoning: "", answer: begins !== "" && open.startsWith(begins) ? "" : this.#text };
    const rest = begins.startsWith(open) ? begins.slice(open.length) : this.#text;
    const at = rest.indexOf(close);
    if (at === -1) return { reasoning: rest, answer: "" };
    return { reasoning: rest.slice(0, at), answer: rest.slice(at + close.length).trimStart() };
  }

  #settled(answer: string): string {
    const { ends, trimmed } = this.#options;
    const found = ends.map((end) => answer.indexOf(end)).filter((at) => at !== -1);
    const text = found.length > 0 ? answer.slice(0, Math.min(...found)) : withoutBeginning(answer, ends);
    return trimmed ? text.trim() : text;
  }

  #send(kind: Delta["kind"], text: string): void {
    const added = text.slice(this.#sent[kind]);
    if (added === "") return;
    this.#sent[kind] = text.length;
    this.#options.emit({ kind, text: added });
  }
}

/** The text without an end that is the beginning of one of the others. */
function withoutBeginning(text: string, others: readonly string[]): string {
  const longest = Math.max(0, ...others.map(({ length }) => length - 1));
  for (let count = Math.min(longest, text.length); count > 0; count--)
    if (others.some((other) => other.startsWith(text.slice(-count)))) return text.slice(0, -count);
  return text;
}
