import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { Context } from "../../core/context.ts";
import { randomStream } from "../../core/random.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
import { echoKind, repliesOf } from "./echo.ts";

//             prompt  action  reply  action  reply  action
// ids          0 1      2      3 0     1       2     0
const ids = [0, 1, 2, 3, 0, 1, 2, 0];
const turns = [
  { context: ids.slice(0, 2), action: [2] },
  { context: ids.slice(0, 5), action: [1] },
  { context: ids.slice(0, 7), action: [0] },
];
const group = groupOf("g", [{ id: "a", reward: 1, turns }]);
const episode = (trajectory = group.trajectories[0]) => ({ trajectory, turns: trajectory.turns });

test("replies are the tokens between two turns, each after all that came before it", () => {
  const rows = repliesOf([episode()]).map(({ context, action }) => [[...context], [...action]]);
  expect(rows).toEqual([
    [
      [0, 1, 2],
      [3, 0],
    ],
    [[0, 1, 2, 3, 0, 1], [2]],
  ]);
});

test("a shared prefix is followed by its replies once, and a rewritten context by none", () => {
  const [trajectory] = group.trajectories;
  expect(repliesOf([episode({ ...trajectory, branch: { from: "b", turn: 1 } })]).map(({ turn }) => turn)).toEqual([1]);
  const rewritten = trajectory.turns.map((turn, i) => ({ ...turn, rewritten: i === 1 }));
  expect(repliesOf([episode({ ...trajectory, turns: rewritten })]).map(({ turn }) => turn)).toEqual([1]);
});

test("contexts stay nodes of the tree", () => {
  const [{ turns: arrays, ...rest }] = group.trajectories;
  const nodes = arrays.map((turn) => ({ ...turn, context: Context.of([...turn.context]) }));
  const [first] = repliesOf([episode({ ...rest, turns: nodes })]);
  expect(first.context).toBeInstanceOf(Context);
  expect([...first.context]).toEqual([0, 1, 2]);
});

test("every reply token weighs α/N, by hand", () => {
  const { loss, weights, metrics } = echoKind.loss([[-1, -2], [-3]], { alpha: 0.1 });
  expectClose(weights, [[0.1 / 3, 0.1 / 3], [0.1 / 3]]);
  expectClose([loss, metrics.echoLoss], [0.2, 2]);
});

test("the update learns replies though no return differs, beside its own loss", async () => {
  const settings = { kind: "custom", advantage: { kind: "group-relative" }, update: { kind: "ppu" } };
  const table = [0, 1, 2, 3].map(() => [0, 0, 0, 0]);
  const policy = new TablePolicy(table, 1);
  const metrics = await runUpdate(policy, [group], resolveAlgorithm({ ...settings, term: { kind: "echo" } }), randomStream(1));
  expect(metrics).toMatchObject({ optimiserSteps: 1, groupsWithoutSignal: 1 });
  expectClose([metrics.echoLoss ?? 0], [Math.log(4)]);
  const without = await runUpdate(new TablePolicy(table, 1), [group], resolveAlgorithm(settings), randomStream(1));
  expect(without).toEqual({ groups: 1, groupsWithoutSignal: 1 });
});

test("over ten steps the cross-entropy of the replies goes down", async () => {
  const settings = { kind: "custom", advantage: { kind: "group-relative" }, update: { kind: "ppu" }, term: { kind: "echo" } };
  const policy = new TablePolicy(
    [0, 1, 2, 3].map(() => [0, 0, 0, 0]),
    5,
  );
  const losses: number[] = [];
  for (let step = 1; step <= 10; step++) {
    const { echoLoss = Number.NaN } = await runUpdate(policy, [group], resolveAlgorithm(settings), randomStream(step));
    losses.push(echoLoss);
  }
  for (const [i, loss] of losses.entries()) expect(loss).toBeLessThan(losses[i - 1] ?? Math.log(4) + 1e-9);
  expect(losses.at(-1)).toBeLessThan(0.7);
});
