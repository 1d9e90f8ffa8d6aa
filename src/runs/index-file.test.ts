import { expect, test } from "vitest";
import { indexLine, readIndexLines } from "./index-file.ts";
import { addStep, newRun, trajectoryOf } from "./store.fixture.ts";
import { decodeTrajectories, decodeTrajectory, encodeTrajectories, encodeTrajectory } from "./trajectory-file.ts";

test("a line of the index has a column for each thing that a filter asks, and numbers texts that repeat", () => {
  const trajectories = [
    trajectoryOf("s/0/0"),
    trajectoryOf("s/0/1", { reward: 0.5, stopReason: "max-turns", kind: undefined, turns: [] }),
    trajectoryOf("s/1/0", { task: "train/2", kind: "pay" }),
  ];
  const { offsets } = encodeTrajectories(trajectories);
  const of = { file: "trajectories/x.jsonl.gz", source: "after", split: "test", decoding: "greedy", step: 7 } as const;
  expect(indexLine(of, trajectories, offsets)).toEqual({
    ...{ schema: 2, ...of, id: ["s/0/0", "s/0/1", "s/1/0"], offsets: [...offsets] },
    ...{ tasks: ["train/1", "train/2"], task: [0, 0, 1], kinds: ["find+call", "", "pay"], kind: [0, 1, 2] },
    ...{ groups: ["s/0", "s/1"], group: [0, 0, 1], stops: ["done", "max-turns"], stop: [0, 1, 0] },
    ...{ reward: [1, 0.5, 1], success: [1, 0, 1], turns: [2, 0, 2], tokens: [5, 0, 5], toolCalls: [1, 0, 1] },
    // The tokens 3, 4, 5, 1 and 2 have an eighth of themselves in nats: 15 / 8 / 5.
    entropy: [0.375, 0, 0.375],
  });
});

test("the index is read as it was written, a line for each file; a run without one has none", () => {
  const folder = newRun();
  expect(readIndexLines(folder)).toEqual([]);
  addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
  addStep(folder, 2, [trajectoryOf("step-2/0/0"), trajectoryOf("step-2/0/1")]);
  expect(readIndexLines(folder).map(({ step, source, id }) => [step, source, id])).toEqual([
    [1, "train", ["step-1/0/0"]],
    [2, "train", ["step-2/0/0", "step-2/0/1"]],
  ]);
});

test("each id of a context is stored once: what the next turn shares with the one before is counted", () => {
  const trajectory = trajectoryOf("s/0/0");
  const { turns, schema, ...rest } = JSON.parse(encodeTrajectory(trajectory));
  expect([schema, rest.id, rest.messages]).toEqual([2, "s/0/0", trajectory.messages]);
  expect(turns.map((turn: Record<string, unknown>) => [turn.shared, turn.context, turn.action])).toEqual([
    [0, [1, 2], [3, 4, 5]],
    [5, [6], [1, 2]],
  ]);
  expect(turns[0]).not.toHaveProperty("trajectory");
  expect(turns[0]).not.toHaveProperty("turn");
  const [first, second] = decodeTrajectory(encodeTrajectory(trajectory)).turns;
  expect([first?.trajectory, first?.turn, [...(first?.context ?? [])]]).toEqual(["s/0/0", 0, [1, 2]]);
  expect([second?.trajectory, second?.turn, [...(second?.context ?? [])]]).toEqual(["s/0/0", 1, [1, 2, 3, 4, 5, 6]]);
});

test("a context that leaves the one before begins where they part", () => {
  const trajectory = trajectoryOf("s/0/0");
  const [first, second] = trajectory.turns;
  if (first === undefined || second === undefined) throw new Error("two turns");
  const rewritten = { ...trajectory, turns: [first, { ...second, context: [1, 9, 9], rewritten: true }] };
  expect(JSON.parse(encodeTrajectory(rewritten)).turns[1]).toMatchObject({ shared: 1, context: [9, 9], rewritten: true });
  const [read] = decodeTrajectories(encodeTrajectories([rewritten]).bytes);
  expect(read?.turns.map(({ context }) => [...context])).toEqual([
    [1, 2],
    [1, 9, 9],
  ]);
});

test("offsets are bytes of the text, the last one its length", () => {
  const trajectories = ["a", "ä"].map((id) => trajectoryOf(id));
  const lengths = trajectories.map((trajectory) => Buffer.byteLength(encodeTrajectory(trajectory)) + 1);
  expect(encodeTrajectories(trajectories).offsets).toEqual([0, lengths[0], (lengths[0] ?? 0) + (lengths[1] ?? 0)]);
  expect(encodeTrajectories([]).offsets).toEqual([0]);
  expect(decodeTrajectories(encodeTrajectories([]).bytes)).toEqual([]);
  expect(() => decodeTrajectory('{"schema": 99}')).toThrow(/a trajectory is "of schema version 99"/);
});
