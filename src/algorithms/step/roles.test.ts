import { expect, test } from "vitest";
import type { Policy } from "../../core/policy.ts";
import { randomStream } from "../../core/random.ts";
import { type Group, type Trajectory, type Turn, turnKey } from "../../core/trajectory.ts";
import { trajectoryOf } from "../../runs/store.fixture.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
import { rolesApart } from "./roles.ts";

/** An episode whose turns were written by these roles, two tokens each. */
function episode(attempt: number, roles: readonly string[], returns: Readonly<Record<string, number>>): Trajectory {
  const id = `s/0/${attempt}`;
  const [turn] = trajectoryOf(id).turns as [Turn];
  const scores = Object.fromEntries(Object.entries(returns).map(([role, value]) => [`reward:${role}`, value]));
  const turns = roles.map((role, at): Turn => ({ ...turn, turn: at, role, context: [at, attempt], action: [3, 4] }));
  return trajectoryOf(id, { group: "s/0", turns, scores, reward: 9 });
}

/** The weights that an update back-propagated, by turn. */
async function weightsOf(groups: readonly Group[], algorithm: object) {
  const weights = new Map<string, readonly number[]>();
  const policy: Policy = {
    logprobs: async (samples) => samples.map(({ action }) => action.map(() => -1)),
    referenceLogprobs: async (samples) => samples.map(({ action }) => action.map(() => -1)),
    forwardBackward: async (samples, decide) => {
      const logprobs = samples.map(({ action }) => action.map(() => -1));
      const decided = typeof decide === "function" ? decide(logprobs) : decide;
      for (const [i, sample] of samples.entries()) weights.set(turnKey(sample), decided[i] ?? []);
      return logprobs;
    },
    step: async () => ({ gradientNorm: 1, learningRate: 1 }),
  };
  const metrics = await runUpdate(policy, rolesApart(groups), resolveAlgorithm(algorithm), randomStream(1));
  return { weights, metrics };
}

//            planner doer planner   returns: planner, doer
const first = episode(0, ["planner", "doer", "planner"], { planner: 1, doer: 0 });
const second = episode(1, ["planner", "doer"], { planner: 0, doer: 3 });
// The doer never acted.
const third = episode(2, ["planner"], { planner: 0, doer: 99 });
const group: Group = { id: "s/0", trajectories: [first, second, third] };

test("every role's turns are credited by its own return, against the same role's in the other episodes", async () => {
  // planner: mean 1/3, so 2/3, −1/3, −1/3 over 2 + 1 + 1 turns. doer: mean 1.5, so −1.5 and 1.5. 12 tokens in the batch, mean over tokens.
  const { weights, metrics } = await weightsOf([group], {
    kind: "custom",
    advantage: { kind: "group-relative", std: "none" },
    update: { kind: "ppu" },
  });
  const expected = { "s/0/0/0": 2 / 3, "s/0/0/1": -1.5, "s/0/0/2": 2 / 3, "s/0/1/0": -1 / 3, "s/0/1/1": 1.5, "s/0/2/0": -1 / 3 };
  expect(weights.size).toBe(6);
  for (const [key, advantage] of Object.entries(expected))
    for (const weight of weights.get(key) ?? []) expect(weight, key).toBeCloseTo(advantage / 12, 12);
  expect(metrics).toMatchObject({ groups: 2, groupsWithoutSignal: 0 });
});

test("a role whose returns are all equal teaches nothing, while the other's do", async () => {
  const even = { ...second, scores: { ...second.scores, "reward:doer": 0 } };
  const { weights, metrics } = await weightsOf([{ id: "s/0", trajectories: [first, even] }], { kind: "grpo" });
  expect([...weights.keys()].sort()).toEqual(["s/0/0/0", "s/0/0/2", "s/0/1/0"]);
  expect(metrics).toMatchObject({ groups: 2, groupsWithoutSignal: 1 });
});

test("groups of one role each, in the order in which they act; turns stay the recorded ones", () => {
  const apart = rolesApart([group]);
  expect(apart.map(({ id, trajectories }) => [id, trajectories.map((trajectory) => [trajectory.id, trajectory.reward])])).toEqual(
    [
      [
        "s/0/planner",
        [
          ["s/0/0/planner", 1],
          ["s/0/1/planner", 0],
          ["s/0/2/planner", 0],
        ],
      ],
      [
        "s/0/doer",
        [
          ["s/0/0/doer", 0],
          ["s/0/1/doer", 3],
        ],
      ],
    ],
  );
  expect(apart[0]?.trajectories[0]?.turns[1]).toBe(first.turns[2]);
});

test("a failed episode, which has no scores, has the return 0 for every role that acted", () => {
  const failed = episode(3, ["planner"], {});
  expect(rolesApart([{ id: "s/0", trajectories: [failed] }])[0]?.trajectories[0]?.reward).toBe(0);
});

test("groups without roles are left alone", () => {
  const plain = { id: "s/1", trajectories: [trajectoryOf("s/1/0")] };
  expect(rolesApart([plain])[0]).toBe(plain);
});
