import { type DocumentIndex, indexOf } from "../../extensions/tools/search/local.ts";
import type { Random } from "../../src/core/random.ts";
import { type Fact, inSentence } from "./world.ts";

/** The documents that are searched: a sentence for each fact. They never change, so that the episodes of a task share them. */
export interface Corpus {
  readonly index: DocumentIndex;
  /** The fact that each document states. */
  readonly facts: ReadonlyMap<string, Fact>;
}

/** @param sourced whether each page begins with its source */
export function corpusOf(random: Random, facts: readonly Fact[], sourced: boolean): Corpus {
  const told = new Map(
    random.shuffle(facts).map((fact) => [`${sourced ? `${fact.source}: ` : ""}${sentence(random, fact)}`, fact]),
  );
  return { index: indexOf([...told.keys()].map((text) => ({ title: "", text, url: "" }))), facts: told };
}

/** The document's text on a line of a result: "Page 2: …". */
export function pageOf(line: string): string {
  return line.replace(/^Page \d+: /, "");
}

/**
 * Returns the sentence of a fact. All have the same number of distinct words around the names, so that the length of a document
 * does not show which one is meant.
 */
function sentence(random: Random, { relation, subject, value, former }: Fact): string {
  const [of, is] = [inSentence(subject), inSentence(value)];
  const valueFirst = typeof value !== "number" && random.chance(0.4);
  if (valueFirst) return `${capitalised(is)} ${former ? `was the former ${relation}` : `is now the ${relation}`} of ${of}.`;
  return former ? `The former ${relation} of ${of} was ${is}.` : `The ${relation} of ${of} is now ${is}.`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
