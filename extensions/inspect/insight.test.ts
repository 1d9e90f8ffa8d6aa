import { expect, test } from "vitest";
import { indexLine } from "../../src/runs/index-file.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { compareRuns } from "./compare.ts";
import { pushedPhrases } from "./phrases.ts";
import type { RecordedCredit } from "./read-credits.ts";
import { positionsOf, treeOf } from "./tree.ts";

test("phrases add their weights over positions, and lead to each of them", () => {
  //           tokens 3 4 5          1 2
  const texts = ["", " b", " c", "I", " see", " it"];
  const credit = (trajectory: string, turn: number, weights: readonly number[]): RecordedCredit => ({
    ...{ optimiserStep: 0, trajectory, turn, advantage: 1, factor: 1, learningRate: 1, rateShare: 1, ratio: 1, weights },
    ...{ before: weights, end: [], after: weights, ratios: weights },
  });
  const trajectories = [trajectoryOf("a"), trajectoryOf("b")];
  const credits = [credit("a", 0, [1, 2, 3]), credit("b", 0, [0, 1, 0]), credit("a", 1, [-1, -2])];
  const { up, down } = pushedPhrases(trajectories, credits, (ids) => ids.map((id) => texts[id]));
  expect(up[0]).toEqual({
    text: "I see it",
    weight: 7,
    count: 2,
    positions: [
      { trajectory: "a", turn: 0, token: 0 },
      { trajectory: "b", turn: 0, token: 0 },
    ],
  });
  expect(down).toEqual([{ text: "b c", weight: -3, count: 1, positions: [{ trajectory: "a", turn: 1, token: 0 }] }]);

  // Updated at a third of the rate, the second turn of "a" moves a third as much.
  const rated = [...credits.slice(0, 2), { ...credits[2], rateShare: 1 / 3 }];
  expect(pushedPhrases(trajectories, rated, (ids) => ids.map((id) => texts[id])).down[0].weight).toBeCloseTo(-1, 12);
});

test("a tree draws the turns that trajectories share once, and parts where they part", () => {
  const one = trajectoryOf("a");
  const same = trajectoryOf("b", { reward: 0 });
  const other = trajectoryOf("c", { turns: [one.turns[0], { ...one.turns[1], action: [9, 9] }], reward: 0.5 });
  const root = treeOf([one, same, other]);
  expect(root).toMatchObject({ turn: -1, leaves: 3, reward: 0.5 });
  expect(root.children).toHaveLength(1);
  expect(root.children[0].children.map(({ leaves, ends }) => [leaves, ends.map(({ id }) => id)])).toEqual([
    [2, ["a", "b"]],
    [1, ["c"]],
  ]);
});

test("a sub-agent and a rewritten history are branches of their own trajectory, at the turn that they come from", () => {
  const turn = (index: number, context: readonly number[], action: readonly number[]) => ({
    ...{ ...trajectoryOf("a").turns[0], turn: index, context, action },
    ...{ entropies: action, samplerLogprobs: action },
  });
  //   0 ─ calls a sub-agent: 1 ─ 2        1 begins with a prompt of its own
  //   └── 3, the caller, goes on behind 0
  //       └ ─ 4: a history that drops the middle of 3's context
  const turns = [
    turn(0, [1, 2], [3, 4]),
    turn(1, [1, 9], [7]),
    turn(2, [1, 9, 7, 8], [7]),
    turn(3, [1, 2, 3, 4, 5], [6]),
    turn(4, [1, 2, 3, 5], [6]),
  ];
  expect(positionsOf(turns)).toEqual([
    { above: -1, descent: "continues", kept: 0 },
    { above: -1, descent: "fresh", kept: 0 },
    { above: 1, descent: "continues", kept: 3 },
    { above: 0, descent: "continues", kept: 4 },
    { above: 3, descent: "rewritten", kept: 3 },
  ]);
  const root = treeOf([trajectoryOf("a", { turns }), trajectoryOf("b", { turns: turns.slice(0, 3) })]);
  expect(root.children.map(({ turn: of, leaves, descent }) => [of, leaves, descent])).toEqual([
    [0, 2, "continues"],
    [1, 2, "fresh"],
  ]);
  expect(root.children[1].children[0].ends.map(({ id }) => id)).toEqual(["b"]);
  expect(root.children[0].children[0].children[0].ends.map(({ id }) => id)).toEqual(["a"]);
});

test("a turn where branching was decided has its rise and its forks, and what a turn is made of", () => {
  const { turns, ...one } = trajectoryOf("a");
  const decided = { ...turns[0], branching: { rise: 0.5, forks: 2 } } as (typeof turns)[0];
  const root = treeOf([{ ...one, turns: [decided, turns[1]] }]);
  const [first] = root.children;
  const leaf = { ...{ descent: "continues", leaves: 1, reward: 1 }, trajectory: "a" };
  expect(root).toEqual({
    ...{ ...leaf, turn: -1, kept: 0, context: 0, entropy: 0, tokens: 0, forks: 0, children: [first], ends: [] },
  });
  expect(first).toEqual({
    // Entropies 3/8, 4/8 and 5/8.
    ...{ ...leaf, turn: 0, kept: 0, context: 2, entropy: 0.5, tokens: 3, rise: 0.5, forks: 2, ends: [] },
    children: [
      {
        ...{ ...leaf, turn: 1, kept: 5, context: 6, entropy: 0.1875, tokens: 2, forks: 0, children: [] },
        ends: [{ id: "a", reward: 1 }],
      },
    ],
  });
  expect(treeOf([trajectoryOf("b", { turns: [] })])).toMatchObject({ children: [], ends: [{ id: "b", reward: 1 }] });
});

test("two runs are compared on the tasks that both attempted, by their last evaluations", () => {
  const evaluation = (when: "before" | "after", successes: Record<string, readonly number[]>) => {
    const all = Object.entries(successes).flatMap(([task, rewards]) =>
      rewards.map((reward, i) => trajectoryOf(`${when}/${task}/${i}`, { task, reward })),
    );
    return indexLine({ file: when, source: when, split: "test", step: when === "before" ? 0 : 5 }, all, [
      ...all.keys(),
      all.length,
    ]);
  };
  const a = [evaluation("before", { x: [1, 1], y: [1, 1] }), evaluation("after", { x: [0, 0], y: [1, 0], only: [1, 1] })];
  const b = [evaluation("after", { x: [1, 1], y: [1, 0] })];
  const record = { config: { environment: { name: "office" } } };
  const [comparison] = compareRuns({ record, index: a }, { record, index: b });
  expect(comparison).toMatchObject({ split: "test", decoding: "sampled", meanA: 0.25, meanB: 0.75 });
  expect(comparison.paired).toMatchObject({ tasks: 2, better: 1, worse: 0, difference: { mean: 0.5 } });
  expect(comparison.pairs.map(({ task }) => task)).toEqual(["x"]);
  expect(comparison.paired.difference.low).toBeLessThanOrEqual(0.5);
});

test("of the evaluations of one step the one after it counts, whatever their order, and a greedy one is a comparison of its own", () => {
  const line = (source: "before" | "during" | "after", decoding: "sampled" | "greedy", rewards: readonly number[]) => {
    const all = rewards.map((reward, i) => trajectoryOf(`${source}/${i}/0`, { task: `test/${i}`, reward }));
    return indexLine({ file: source, source, split: "test", decoding, step: 5 }, all, [...all.keys(), all.length]);
  };
  const record = { config: { environment: { name: "office" } } };
  const index = [line("after", "sampled", [1, 1]), line("during", "sampled", [0, 1]), line("before", "sampled", [0, 0])];
  const compared = (b: typeof index) =>
    compareRuns({ record, index: [...index, line("during", "greedy", [0, 1])] }, { record, index: b });
  const other = line("after", "greedy", [0, 0]);
  expect(
    compared([line("before", "sampled", [0, 1]), other]).map(({ decoding, meanA, meanB }) => [decoding, meanA, meanB]),
  ).toEqual([
    ["sampled", 1, 0.5],
    ["greedy", 0.5, 0],
  ]);
  // The largest difference first, with an episode of each run.
  const wide = [line("after", "sampled", [0.4, 0, 1])];
  const [{ pairs }] = compareRuns({ record, index: [line("after", "sampled", [1, 1, 1])] }, { record, index: wide });
  expect(pairs.map(({ task, a, b, exampleB }) => [task, a, b, exampleB])).toEqual([
    ["test/0", 1, 0, "after/0/0"],
    ["test/1", 1, 0, "after/1/0"],
  ]);
});

test("runs of different worlds are not compared, nor tasks that only have the same name", () => {
  const index = (kind: string) => [
    indexLine({ file: "after", source: "after", split: "test", step: 5 }, [trajectoryOf("a", { task: "test/0", kind })], [0, 1]),
  ];
  const run = (name: string, kind: string) => ({ record: { config: { environment: { name } } }, index: index(kind) });
  expect(() => compareRuns(run("office", "pay"), run("knowledge", "pay"))).toThrow(/world is "knowledge".*"office"/);
  expect(() => compareRuns(run("office", "pay"), run("office", "move"))).toThrow(/test\/0.*"move".*"pay"/);
  expect(compareRuns(run("office", "pay"), run("office", "pay"))).toHaveLength(1);
  // A record may have the name alone.
  const named = (environment: unknown) => ({ record: { config: { environment } }, index: index("pay") });
  expect(compareRuns(named("office"), run("office", "pay"))).toHaveLength(1);
  expect(() => compareRuns(named("office"), named(undefined))).toThrow(/world is "undefined".*"office"/);
});

test("two tasks of one id are not merged into one", () => {
  const all = ["g0", "g1"].map((group, i) => trajectoryOf(String(i), { task: "row", group, reward: i }));
  const run = {
    record: { config: { environment: { name: "office" } } },
    index: [indexLine({ file: "after", source: "after", split: "test", step: 5 }, all, [0, 1, 2])],
  };
  expect(() => compareRuns(run, run)).toThrow(/the id of two tasks of an evaluation is "row"/);
});
