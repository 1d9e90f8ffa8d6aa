import { mean } from "../../../src/core/mean.ts";
import { succeeded } from "../../../src/core/outcome.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import type { IndexLine } from "../../../src/runs/index-file.ts";
import { writtenBy } from "../../inspect/written.ts";

/** A finding over recorded episodes. It names more than one example. */
export interface RunFinding {
  readonly rule: "repetition" | "length-drift" | "unread-results" | "one-phrase";
  readonly cause: string;
  /** Says what to do about it. */
  readonly next: string;
  /** Trajectories to look at. */
  readonly examples: readonly string[];
}

/** Finds what lengths show over the whole run. The index alone says enough. */
export function indexFindings(lines: readonly IndexLine[]): RunFinding[] {
  const training = lines.filter(({ source }) => source === "train");
  return driftingLengths(training);
}

/** Finds what the texts of one step show. */
export function episodeFindings(trajectories: readonly Trajectory[]): RunFinding[] {
  return [...repetition(trajectories), ...unreadResults(trajectories), ...onePhrase(trajectories)];
}

/** Lengths of the last tenth of the steps beside those of the first. */
function driftingLengths(training: readonly IndexLine[]): RunFinding[] {
  const window = Math.max(3, Math.floor(training.length / 10));
  if (training.length < 2 * window) return [];
  const lengthOf = (lines: readonly IndexLine[]) => mean(lines.flatMap(({ tokens }) => tokens));
  const [first, last] = [lengthOf(training.slice(0, window)), lengthOf(training.slice(-window))];
  const factor = last / first;
  if (first === 0 || !(factor >= 1.5 || factor <= 1 / 1.5)) return [];
  const line = training.at(-1);
  if (line === undefined) return [];
  return [
    {
      rule: "length-drift",
      cause: `Episodes are ${factor > 1 ? `${factor.toFixed(1)} times as long` : `${(1 / factor).toFixed(1)} times shorter`} as at the start: ${last.toFixed(0)} sampled tokens instead of ${first.toFixed(0)}.`,
      next:
        factor > 1
          ? "Read the longest ones: is it work, or filling? A penalty for length (overlong) and the algorithm's aggregation decide it."
          : "Read some: does the model skip steps, or has it learned a shorter way?",
      examples: longest(line),
    },
  ];
}

function longest(line: IndexLine): string[] {
  return line.id
    .map((id, at) => ({ id, tokens: line.tokens[at] ?? 0 }))
    .sort((a, b) => b.tokens - a.tokens)
    .slice(0, 3)
    .map(({ id }) => id);
}

const [gram, repeats] = [4, 4];

/** The same words again and again inside one message. */
function repetition(trajectories: readonly Trajectory[]): RunFinding[] {
  const loops = trajectories.filter(({ messages }) =>
    messages.some((message) => message.role === "assistant" && repeatsItself(message.content)),
  );
  if (loops.length < Math.max(2, 0.02 * trajectories.length)) return [];
  return [
    {
      rule: "repetition",
      cause: `${loops.length} of ${trajectories.length} episodes have a message in which the same ${gram} words occur ${repeats} times or more.`,
      next: "Repetition that is rewarded grows. Read where it began; a reward part or a lower learning rate ends it.",
      examples: loops.slice(0, 3).map(({ id }) => id),
    },
  ];
}

function repeatsItself(text: string): boolean {
  const words = text.split(/\s+/);
  const counts = new Map<string, number>();
  for (let i = 0; i + gram <= words.length; i++) {
    const key = words.slice(i, i + gram).join(" ");
    const count = (counts.get(key) ?? 0) + 1;
    if (count >= repeats) return true;
    counts.set(key, count);
  }
  return false;
}

/** Results of a tool of which nothing occurs in anything that the model writes afterwards. */
function unreadResults(trajectories: readonly Trajectory[]): RunFinding[] {
  const tools = new Map<string, { read: number; unread: number; examples: string[] }>();
  for (const trajectory of trajectories) {
    const { messages, id } = trajectory;
    for (const [m, message] of messages.entries()) {
      if (message.role !== "tool") continue;
      // A result such as "ok" or "busy, try again" has nothing that could be used.
      if (!/^\s*[[{]/.test(message.content) && message.content.length < 200) continue;
      if (m === messages.length - 1) continue;
      const values = message.content.match(/[\p{L}\p{N}][\p{L}\p{N}:._-]{1,}/gu) ?? [];
      const later = writtenBy({ ...trajectory, messages: messages.slice(m + 1) });
      const earlier = messages
        .slice(0, m)
        .map(({ content }) => content)
        .join(" ");
      const fresh = values.filter((value) => !earlier.includes(value));
      if (fresh.length === 0) continue;
      const counted = tools.get(message.name) ?? { read: 0, unread: 0, examples: [] };
      if (fresh.some((value) => later.includes(value))) counted.read++;
      else {
        counted.unread++;
        if (counted.examples.length < 3) counted.examples.push(id);
      }
      tools.set(message.name, counted);
    }
  }
  return [...tools].flatMap(([name, { read, unread, examples }]) =>
    read + unread < 5 || unread / (read + unread) < 0.7
      ? []
      : [
          {
            rule: "unread-results" as const,
            cause: `Of ${read + unread} results of ${name}, ${unread} are never used: nothing of them occurs in a later message.`,
            next: "The model calls the tool out of habit, or the answer does not need it. Look at what the reward pays for.",
            examples,
          },
        ],
  );
}

/** Three words in nearly every success and in few failures: what a reward can be had for without the work. */
function onePhrase(trajectories: readonly Trajectory[]): RunFinding[] {
  const [wins, losses] = [trajectories.filter(succeeded), trajectories.filter((trajectory) => !succeeded(trajectory))];
  if (wins.length < 10 || losses.length < 10) return [];
  const share = (of: readonly ReadonlySet<string>[], phrase: string) => of.filter((set) => set.has(phrase)).length / of.length;
  const [inWins, inLosses] = [wins.map(phrasesOf), losses.map(phrasesOf)];
  const candidates = [...(inWins[0] ?? [])].filter((phrase) => share(inWins, phrase) >= 0.95);
  const telling = candidates.map((phrase) => ({ phrase, losing: share(inLosses, phrase) })).filter(({ losing }) => losing <= 0.5);
  const found = telling.sort((a, b) => a.losing - b.losing)[0];
  if (found === undefined) return [];
  return [
    {
      rule: "one-phrase",
      cause: `“${found.phrase}” is in at least 95 % of the successes and in ${(100 * found.losing).toFixed(0)} % of the failures.`,
      next: "Does the reward pay for these words rather than for the work? Try the reward on an episode with the words alone.",
      examples: wins.slice(0, 3).map(({ id }) => id),
    },
  ];
}

function phrasesOf(trajectory: Trajectory): ReadonlySet<string> {
  const text = trajectory.messages.map((message) => (message.role === "assistant" ? message.content : "")).join(" ");
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return new Set(words.slice(2).map((_, i) => words.slice(i, i + 3).join(" ")));
}
