import { resolve } from "node:path";
import type { Act } from "../core/acts.ts";
import { RunError } from "../core/errors.ts";

/** A record came from elsewhere, and its settings would act on this machine. */
export class UntrustedError extends RunError {
  readonly folder: string;
  /** The acts of the record, as a sentence without its subject. */
  readonly doing: string;

  constructor(folder: string, parts: readonly (readonly Act[])[]) {
    const doing = actsText(parts);
    super(folder, "not made on this machine by you", {
      expected: `a record of your own, since this one ${doing}`,
      hint: `If you trust those who made it, allow it with --trust; from code, with trustRun(${JSON.stringify(folder)}).`,
    });
    this.folder = folder;
    this.doing = doing;
  }
}

/** Records that this process may obey. */
const trusted = new Set<string>();
let all = false;

/**
 * Lets the settings of a record act in this process: start programs, connect to addresses and send environment variables, as the user's own
 * settings do. Records that were made on this machine by this user need no trust.
 * @param folder of a run, an evaluation or a model. Default: of every record
 * @example
 * trustRun("runs/from-a-colleague");
 */
export function trustRun(folder?: string): void {
  if (folder === undefined) all = true;
  else trusted.add(resolve(folder));
}

/** @param isOwn whether the record was made here @throws UntrustedError if it was not, is not trusted, and would act */
export function requireTrusted(folder: string, isOwn: () => boolean, parts: readonly (readonly Act[])[]): void {
  if (parts.flat().length === 0 || all || trusted.has(resolve(folder)) || isOwn()) return;
  throw new UntrustedError(folder, parts);
}

/** The most serious first. */
const phrases = {
  starts: "starts the program",
  runs: "runs",
  sends: "sends",
  connects: "connects to",
  listens: "listens at",
  writes: "writes into",
  model: "uses the model",
  reads: "reads",
} as const satisfies Readonly<Record<Act["kind"], string>>;
const kinds = Object.keys(phrases) as Act["kind"][];
const shownActs = 8;
const shownLetters = 120;

/**
 * Returns what settings do, in one sentence: `starts the program "x", sends $A and $B to "http://…"`.
 * @param parts the acts of each part of a configuration: a variable of one is sent to the addresses of the same
 */
export function actsText(parts: readonly (readonly Act[])[]): string {
  const texts = parts.flatMap((acts) => {
    const of = (kind: Act["kind"]) => [...new Set(acts.flatMap((act) => (act.kind === kind ? [shown(act)] : [])))];
    const addresses = of("connects");
    const variables = of("sends");
    const sent =
      variables.length > 0 ? [{ kind: "sends" as const, text: `${variables.join(" and ")} to ${addresses.join(" or ")}` }] : [];
    const others = kinds
      .filter((kind) => kind !== "sends" && (kind !== "connects" || variables.length === 0))
      .flatMap((kind) => of(kind).map((text) => ({ kind, text })));
    return [...sent, ...others];
  });
  const sorted = texts.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
  const more = sorted.length - shownActs;
  const sentences = sorted.slice(0, shownActs).map(({ kind, text }) => `${phrases[kind]} ${text}`);
  return [...sentences, ...(more > 0 ? [`does ${more} more such things`] : [])].join(", ");
}

/** A name as the record has it, cut and quoted: it may be made to look like another sentence. */
function shown({ kind, what }: Act): string {
  const text = what.length > shownLetters ? `${what.slice(0, shownLetters)}…` : what;
  if (kind === "sends" && /^\w+$/.test(text)) return `$${text}`;
  return kind === "runs" ? text : JSON.stringify(text);
}
