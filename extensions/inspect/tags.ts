import { createContext, Script } from "node:vm";
import { z } from "zod";
import { RunError } from "../../src/core/errors.ts";
import { escaped } from "../../src/core/escaped.ts";
import { succeeded } from "../../src/core/outcome.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { writtenBy } from "./written.ts";

/** A pattern that an episode may show, by name. */
export const tagSchema = z.discriminatedUnion("kind", [
  /** A regular expression over what the model writes, without regard to case. */
  z.object({ name: z.string().min(1).max(80), kind: z.literal("text"), pattern: z.string().min(1).max(500) }),
  /** A tool that is called. */
  z.object({ name: z.string().min(1).max(80), kind: z.literal("tool"), tool: z.string().min(1).max(200) }),
  /** Tools that are called one after the other; other calls may be between them. */
  z.object({ name: z.string().min(1).max(80), kind: z.literal("sequence"), tools: z.array(z.string().min(1)).min(2).max(8) }),
]);
export type Tag = z.infer<typeof tagSchema>;

/** How often a tag was seen in one set of trajectories. */
export interface TagCount {
  readonly name: string;
  /** Share of trajectories in which it occurs. */
  readonly share: number;
  /** The share that succeeded of those in which it occurs; `successWithout` is that of the others. Null where there are none. */
  readonly successWith: number | null;
  readonly successWithout: number | null;
  readonly example?: string;
}

/** A pattern that takes longer than this for the trajectories of a step is refused, in milliseconds. */
const patternMs = 2000;

/**
 * Counts tags in trajectories.
 * @throws RunError for a pattern that is no regular expression, or takes too long
 */
export function countTags(trajectories: readonly Trajectory[], tags: readonly Tag[]): TagCount[] {
  return tags.map((tag) => {
    const has = occurrences(trajectories, tag);
    const share = (items: readonly Trajectory[]) => (items.length === 0 ? null : items.filter(succeeded).length / items.length);
    const [those, others] = [trajectories.filter((_, i) => has[i]), trajectories.filter((_, i) => !has[i])];
    return {
      name: tag.name,
      share: trajectories.length === 0 ? 0 : those.length / trajectories.length,
      successWith: share(those),
      successWithout: share(others),
      ...(those[0] === undefined ? {} : { example: those[0].id }),
    };
  });
}

function occurrences(trajectories: readonly Trajectory[], tag: Tag): boolean[] {
  if (tag.kind === "text") return matches(trajectories.map(writtenBy), tag.pattern);
  const wanted = tag.kind === "tool" ? [tag.tool] : tag.tools;
  return trajectories.map((trajectory) => {
    let next = 0;
    for (const name of callsOf(trajectory)) if (name === wanted[next]) next++;
    return next === wanted.length;
  });
}

/** In a context of its own with a time limit: a pattern may backtrack without end. */
function matches(texts: readonly string[], pattern: string): boolean[] {
  try {
    new RegExp(pattern, "iu");
  } catch (cause) {
    throw new RunError("the pattern", pattern, { expected: "a regular expression", cause });
  }
  try {
    const script = new Script("const expression = new RegExp(pattern, 'iu'); texts.map((text) => expression.test(text))");
    const found: unknown = script.runInContext(createContext({ pattern, texts: [...texts] }), { timeout: patternMs });
    return Array.from(found as Iterable<boolean>);
  } catch (cause) {
    throw new RunError("the pattern", pattern, {
      expected: `one that takes less than ${patternMs / 1000} s for the trajectories of a step`,
      hint: "Nested repetitions such as (a+)+ take forever: write it without them.",
      cause,
    });
  }
}

function callsOf({ messages }: Trajectory): string[] {
  return messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []).map(({ name }) => name) : []));
}

/** Tags to begin with: each tool of the trajectories, and the phrases that answers begin with most. */
export function suggestedTags(trajectories: readonly Trajectory[]): Tag[] {
  const tools = ranked(trajectories.flatMap((trajectory) => [...new Set(callsOf(trajectory))]));
  const pairs = ranked(
    trajectories.flatMap((trajectory) => {
      const calls = callsOf(trajectory);
      return [...new Set(calls.slice(1).map((call, i) => `${calls[i]} ${call}`))];
    }),
  );
  const endings = ranked(trajectories.map(({ messages }) => beginning(messages.at(-1)?.content ?? "")));
  return [
    ...tools.slice(0, 6).map((tool) => ({ name: `calls ${tool}`, kind: "tool" as const, tool })),
    ...pairs.slice(0, 3).map((pair) => ({ name: pair.replace(" ", " → "), kind: "sequence" as const, tools: pair.split(" ") })),
    ...endings
      .slice(0, 3)
      .filter((text) => text !== "")
      .map((text) => ({ name: `says “${text}”`, kind: "text" as const, pattern: escaped(text) })),
    { name: "apologises", kind: "text", pattern: "\\b(sorry|apologi[sz]e)\\b" },
    { name: "asks back", kind: "text", pattern: "\\?\\s*$" },
  ];
}

function ranked(texts: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([text]) => text);
}

function beginning(text: string): string {
  return text.split(/\s+/).slice(0, 2).join(" ").slice(0, 40);
}
