import { type Group, roleScore, type Trajectory } from "../../core/trajectory.ts";

/**
 * Groups in which every role is apart: the turns of one role in one task's episodes, credited by the role's own return. An algorithm sees
 * trajectories of one role, as if each had played alone.
 *
 *   R_i,role = the score `reward:ROLE` of trajectory i          A_i,role = advantage within { R_j,role : the role acted in j }
 *
 * An episode in which a role did not act is not in that role's group. Turns stay the recorded ones, under their own ids. Groups without
 * roles stay as they are.
 */
export function rolesApart(groups: readonly Group[]): Group[] {
  return groups.flatMap((group) => {
    const roles = rolesOf(group);
    return roles.length === 0 ? [group] : roles.map((role) => ofRole(group, role));
  });
}

/** In the order in which they first act. */
function rolesOf({ trajectories }: Group): string[] {
  return [...new Set(trajectories.flatMap(({ turns }) => turns.flatMap(({ role }) => role ?? [])))];
}

function ofRole({ id, trajectories }: Group, role: string): Group {
  const group = `${id}/${role}`;
  const own = trajectories.map((trajectory): Trajectory => {
    const turns = trajectory.turns.filter((turn) => turn.role === role);
    // A failed episode has no scores: its return is 0 for all.
    return { ...trajectory, id: `${trajectory.id}/${role}`, group, turns, reward: trajectory.scores[roleScore(role)] ?? 0 };
  });
  return { id: group, trajectories: own.filter(({ turns }) => turns.length > 0) };
}
