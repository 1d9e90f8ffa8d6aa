import type { Trajectory } from "../../core/trajectory.ts";

/** Episodes from rewards by task. */
export function episodes(rewards: Readonly<Record<string, readonly number[]>>): Trajectory[] {
  return Object.entries(rewards).flatMap(([task, all]) =>
    all.map((reward, i) => ({
      ...{ id: `${task}/${i}`, group: task, task, turns: [], reward, scores: {}, stopReason: "done" as const, messages: [] },
    })),
  );
}

export const tasks = Array.from({ length: 20 }, (_, i) => `test/${i}`);
