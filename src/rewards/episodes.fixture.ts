import type { Message } from "../core/messages.ts";
import type { Group, StopReason, Trajectory, Turn } from "../core/trajectory.ts";
import type { ScoringContext } from "./reward.ts";

export const quiet: ScoringContext = { onScored: () => {}, warn: () => {} };

export interface EpisodeShape {
  readonly asks?: string;
  readonly says?: string;
  readonly reward?: number;
  /** Action tokens of each turn. */
  readonly actions?: readonly number[];
  /** Names of the tools that were called, all in the first turn. */
  readonly calls?: readonly string[];
  readonly invalid?: number;
  readonly stopReason?: StopReason;
  readonly error?: string;
}

/** A trajectory, but for its names. */
export function episode({
  asks = "What is 3 + 4?",
  says = "7",
  reward = 0,
  actions = [2],
  calls = [],
  invalid = 0,
  stopReason = "done",
  error,
}: EpisodeShape): Omit<Trajectory, "id" | "group" | "task"> {
  const messages: Message[] = [{ role: "user", content: asks }];
  if (calls.length > 0) {
    messages.push({ role: "assistant", content: "", toolCalls: calls.map((name) => ({ name, arguments: {} })) });
    messages.push(...calls.map((name): Message => ({ role: "tool", name, content: "found" })));
  }
  messages.push({ role: "assistant", content: says });
  const turns = actions.map(
    (length, turn): Turn => ({
      trajectory: "t",
      turn,
      context: [1],
      action: new Array<number>(length).fill(2),
      samplerLogprobs: new Array<number>(length).fill(-1),
      entropies: new Array<number>(length).fill(1),
      weightVersion: 0,
      truncated: false,
      rewritten: false,
      toolCalls: turn === 0 ? calls.length - invalid : 0,
      invalidToolCalls: turn === 0 ? invalid : 0,
    }),
  );
  return { turns, reward, scores: {}, stopReason, messages, ...(error === undefined ? {} : { error }) };
}

export function groupOf(id: string, episodes: readonly ReturnType<typeof episode>[], task = `task of ${id}`): Group {
  return { id, trajectories: episodes.map((one, i) => ({ ...one, id: `${id}/${i}`, group: id, task })) };
}
