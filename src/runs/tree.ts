import type { Trajectory, Turn } from "../core/trajectory.ts";

/** A turn of one or several trajectories of a group: what they share is one node. */
export interface TreeNode {
  /** From 0; −1 for the root, which is the task. */
  readonly turn: number;
  /** A trajectory that has this turn. */
  readonly trajectory: string;
  /** Nats, mean over the action's tokens. */
  readonly entropy: number;
  readonly tokens: number;
  readonly toolCalls: number;
  /** ΔH, where branching was decided here. */
  readonly rise?: number;
  /** Trajectories that were forked here. */
  readonly forks: number;
  /** Mean over the leaves below. */
  readonly reward: number;
  readonly leaves: number;
  readonly children: readonly TreeNode[];
  /** The trajectories that end here, at a leaf. */
  readonly ends: readonly { readonly id: string; readonly reward: number; readonly stop: string }[];
}

/**
 * Joins the trajectories of a group to a tree: turns with the same context and action, id for id, are drawn once. Forks of a branching
 * rollout share their turns by construction, and independent rollouts those that happened to be the same.
 */
export function treeOf(trajectories: readonly Trajectory[]): TreeNode {
  return node(-1, undefined, trajectories);
}

function node(turn: number, of: Turn | undefined, members: readonly Trajectory[]): TreeNode {
  const next = new Map<string, Trajectory[]>();
  for (const member of members) {
    const following = member.turns[turn + 1];
    if (following === undefined) continue;
    const key = `${following.context.length}:${following.action.join(",")}:${following.context.slice(-200).join(",")}`;
    const same = next.get(key);
    if (same === undefined) next.set(key, [member]);
    else same.push(member);
  }
  const ends = members.filter(({ turns }) => turns.length === turn + 1);
  const entropies = of?.entropies ?? [];
  const mean = (values: readonly number[]) => (values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length);
  return {
    turn,
    trajectory: members[0]?.id ?? "",
    entropy: mean(entropies),
    tokens: of?.action.length ?? 0,
    toolCalls: of?.toolCalls ?? 0,
    ...(of?.branching === undefined ? {} : { rise: of.branching.rise }),
    forks: of?.branching?.forks ?? 0,
    reward: mean(members.map(({ reward }) => reward)),
    leaves: members.length,
    children: [...next.values()].map((same) => node(turn + 1, same[0].turns[turn + 1], same)),
    ends: ends.map(({ id, reward, stopReason }) => ({ id, reward, stop: stopReason })),
  };
}
