import { expect, test } from "vitest";
import type { StopReason, Trajectory, Turn } from "../../core/trajectory.ts";
import { turnOf } from "../turn.fixture.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";

const episode = (id: string, reward: number, turns: readonly Turn[], more: Partial<Trajectory> = {}): Trajectory => ({
  ...{ id, group: "g", task: "t", turns, reward, scores: {}, stopReason: "done" as StopReason, messages: [], ...more },
});
const noEnds = {
  "stop/done": 0,
  "stop/max-turns": 0,
  "stop/max-tokens": 0,
  "stop/environment-error": 0,
  "stop/environment-timeout": 0,
  "stop/invalid-reward": 0,
  "stop/actor-error": 0,
  "stop/cancelled": 0,
};
const failures = (...kinds: readonly ("error" | "timeout" | "invalid" | "lost")[]) =>
  kinds.map((kind, i) => ({ tool: i === 0 ? "find" : "open", kind }));

test("a step's metrics: means over episodes, counts to which shared turns contribute once, no score where an error ended", () => {
  const first = turnOf(0, { toolCalls: 2, toolFailures: failures("error", "timeout", "error", "lost", "invalid") });
  const groups = [
    {
      id: "g",
      trajectories: [
        episode("a", 1, [first, turnOf(1, { truncated: true, invalidToolCalls: 3 })], { scores: { b: 2, a: 1 } }),
        episode("b", 0.5, [first, turnOf(1, { rewritten: true, weightVersion: 3, action: [1], entropies: [6] })], {
          ...{ branch: { from: "a", turn: 1 }, scores: { a: 3 }, stopReason: "max-turns" },
        }),
      ],
    },
    { id: "h", trajectories: [episode("c", 0, [], { stopReason: "environment-error", scores: { a: 100 } })] },
  ];
  expect(rolloutMetrics(groups, 4)).toEqual({
    ...{ reward: 0.75, rewardMin: 0.5, rewardMax: 1, success: 0.5, episodes: 3, turns: 4 / 3, actionTokens: 7 / 3 },
    entropy: (1 + 2 + 1 + 2 + 6) / 5,
    ...{ toolCalls: 2, invalidToolCalls: 3, toolErrors: 2, toolTimeouts: 1 },
    ...{ "toolErrors/find": 1, "toolErrors/open": 1, "toolTimeouts/open": 1 },
    ...{ truncatedActions: 1, historyRewrites: 1, weightVersion: 4, staleTurns: 1 },
    ...{ ...noEnds, "stop/done": 1, "stop/max-turns": 1, "stop/environment-error": 1 },
    ...{ "score/a": 2, "score/b": 2 },
  });
  expect(Object.keys(rolloutMetrics(groups, 4)).slice(-2)).toEqual(["score/a", "score/b"]);
});

test("what nothing was measured of is null; an agent's own errors are counted where there are some", () => {
  const none = { reward: null, rewardMin: null, rewardMax: null, success: null };
  const counts = { toolCalls: 0, invalidToolCalls: 0, toolErrors: 0, toolTimeouts: 0, truncatedActions: 0, historyRewrites: 0 };
  expect(rolloutMetrics([], 0)).toEqual({
    ...{ ...none, episodes: 0, turns: null, actionTokens: null, entropy: null, ...counts, weightVersion: 0, staleTurns: 0 },
    ...noEnds,
  });
  const failed = episode("a", 0, [turnOf(0)], { stopReason: "agent-error", error: "no JSON" });
  const { success, ...metrics } = rolloutMetrics([{ id: "g", trajectories: [failed] }], 4);
  expect([success, metrics["stop/agent-error"], metrics.reward]).toEqual([0, 1, 0]);
  expect(rolloutMetrics([{ id: "g", trajectories: [{ ...failed, stopReason: "cancelled" }] }], 4)).toMatchObject(none);
});
