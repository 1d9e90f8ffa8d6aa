import { Context, commonPrefix } from "../../src/core/context.ts";
import { present } from "../../src/core/present.ts";
import type { Trajectory, Turn } from "../../src/core/trajectory.ts";

/**
 * How a turn's context follows from the turn above it: it `continues` that turn, it is a `rewritten` history of it (a template or an agent
 * changed earlier tokens), or it is a `fresh` one that shares no action with any turn before, as that of a sub-agent.
 */
export type Descent = "continues" | "rewritten" | "fresh";

/** A turn of one or several trajectories of a group: what they share is one node. */
export interface TreeNode {
  /** From 0; −1 for the root, which is the task. */
  readonly turn: number;
  /** A trajectory that has this turn. */
  readonly trajectory: string;
  readonly descent: Descent;
  /** Tokens of the context that the turn above has too, and all tokens of the context. */
  readonly kept: number;
  readonly context: number;
  /** Nats, mean over the action's tokens. */
  readonly entropy: number;
  readonly tokens: number;
  /** ΔH, where branching was decided here. */
  readonly rise?: number;
  /** Trajectories that were forked here. */
  readonly forks: number;
  /** Mean over the leaves below. */
  readonly reward: number;
  readonly leaves: number;
  readonly children: readonly TreeNode[];
  /** The trajectories that end here, at a leaf. */
  readonly ends: readonly { readonly id: string; readonly reward: number }[];
}

/** A node while trajectories are added. */
interface Growing {
  readonly turn: Turn | undefined;
  readonly position: TurnPosition;
  readonly members: Trajectory[];
  readonly ends: Trajectory[];
  readonly children: Map<string, Growing>;
}

/** The turn above a turn, by its index; −1 for the task. */
interface TurnPosition {
  readonly above: number;
  readonly descent: Descent;
  readonly kept: number;
}

/**
 * Joins the trajectories of a group to a tree: turns with the same context and action, id for id, are drawn once. Forks of a branching
 * rollout share their turns by construction, and independent rollouts those that happened to be the same. Within a trajectory a turn is
 * below the one that its context continues, so the turns of a sub-agent and those after a rewritten history are branches too.
 */
export function treeOf(trajectories: readonly Trajectory[]): TreeNode {
  const root: Growing = {
    ...{ turn: undefined, position: { above: -1, descent: "continues", kept: 0 }, members: [...trajectories] },
    ...{ ends: trajectories.filter(({ turns }) => turns.length === 0), children: new Map() },
  };
  for (const trajectory of trajectories) {
    const nodes: Growing[] = [];
    const positions = positionsOf(trajectory.turns);
    for (const [index, turn] of trajectory.turns.entries()) {
      const position = present(positions[index], "the position of a turn");
      const siblings = (nodes[position.above] ?? root).children;
      const key = `${turn.context.length}:${turn.action.join(",")}:${turn.context.slice(-200).join(",")}`;
      const known = siblings.get(key) ?? { turn, position, members: [], ends: [], children: new Map<string, Growing>() };
      siblings.set(key, known);
      known.members.push(trajectory);
      nodes.push(known);
    }
    nodes.at(-1)?.ends.push(trajectory);
  }
  return finished(root);
}

/** Returns the position of every turn of a trajectory among those before it. */
export function positionsOf(turns: readonly Turn[]): TurnPosition[] {
  const whole: Context[] = [];
  return turns.map(({ context, action }) => {
    const position = positionOf(context, turns[0]?.context.length ?? 0, whole);
    whole.push(Context.from(context).extend(action));
    return position;
  });
}

function positionOf(context: Turn["context"], opening: number, before: readonly Context[]): TurnPosition {
  if (before.length === 0) return { above: -1, descent: "continues", kept: 0 };
  let longest: TurnPosition = { above: -1, descent: "fresh", kept: 0 };
  for (const [above, earlier] of [...before.entries()].reverse()) {
    const kept = commonPrefix(earlier, context);
    if (kept === earlier.length) return { above, descent: "continues", kept };
    // Less than the first prompt is what any two conversations begin with.
    if (kept >= opening && kept > longest.kept) longest = { above, descent: "rewritten", kept };
  }
  return longest;
}

function finished({ turn, position, members, ends, children }: Growing): TreeNode {
  const entropies = turn?.entropies ?? [];
  const mean = (values: readonly number[]) => (values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length);
  return {
    turn: turn?.turn ?? -1,
    trajectory: turn?.trajectory ?? members[0]?.id ?? "",
    descent: position.descent,
    kept: position.kept,
    context: turn?.context.length ?? 0,
    entropy: mean(entropies),
    tokens: turn?.action.length ?? 0,
    ...(turn?.branching === undefined ? {} : { rise: turn.branching.rise }),
    forks: turn?.branching?.forks ?? 0,
    reward: mean(members.map(({ reward }) => reward)),
    leaves: members.length,
    children: [...children.values()].map(finished),
    ends: ends.map(({ id, reward }) => ({ id, reward })),
  };
}
