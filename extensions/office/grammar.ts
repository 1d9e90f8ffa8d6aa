/** Every sentence that a pattern makes: "(pay|give) {person} (|now)" makes four. Alternatives may be empty and hold others; `{gaps}` stay. */
export function sentencesOf(pattern: string): string[] {
  const inner = /\(([^()]*)\)/.exec(pattern);
  if (inner === null) return [pattern];
  const [before, after] = [pattern.slice(0, inner.index), pattern.slice(inner.index + inner[0].length)];
  return inner[0]
    .slice(1, -1)
    .split("|")
    .flatMap((choice) => sentencesOf(before + choice + after));
}

/** Fills the gaps; one that has no word stays. */
export function fill(sentence: string, words: Readonly<Record<string, string | number>>): string {
  return sentence.replace(/\{(\w+)\}/g, (gap, name: string) => String(words[name] ?? gap));
}

/** How a kind of request is said, by where it is said so: no phrasing of one is in another. The test split has those of training. */
export interface Phrasings {
  readonly train: readonly string[];
  readonly validation: readonly string[];
  readonly challenge: readonly string[];
}

/** Words that users put around a request. */
const frames: Phrasings = {
  train: ["(|next: ){core}", "{core}, (please|thanks)"],
  validation: ["(|also: ){core}", "{core}, please"],
  challenge: ["(|now: ){core}", "{core}, please"],
};

/** Every phrasing that some patterns make, each in all frames. A pattern that ends with "?" is a question. */
export function phrased(patterns: Phrasings): Phrasings {
  const all = (split: keyof Phrasings) => {
    const cores = patterns[split].flatMap(sentencesOf);
    return cores.flatMap((core) =>
      frames[split].flatMap(sentencesOf).map((frame) => {
        const text = frame.replace("{core}", core.replace(/\?$/, ""));
        return `${text.charAt(0).toUpperCase()}${text.slice(1)}${core.endsWith("?") ? "?" : "."}`;
      }),
    );
  };
  return { train: all("train"), validation: all("validation"), challenge: all("challenge") };
}
