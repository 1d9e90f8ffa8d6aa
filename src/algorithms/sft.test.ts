import { expect, test } from "vitest";
import { expectClose } from "../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../test/algorithms/table-policy.ts";
import { ShapeError } from "../core/errors.ts";
import { sftUpdate } from "./sft.ts";

const [group] = [
  groupOf("demonstrations", [
    {
      reward: 0,
      turns: [
        { context: [0], action: [1, 2] },
        { context: [2], action: [0, 1, 1, 2] },
      ],
    },
  ]),
];
const samples = group.trajectories[0].turns;
const uniform = [0, 1, 2].map(() => [0, 0, 0]);

test("the loss is the cross-entropy per action token, and every token weighs the same", async () => {
  const policy = new TablePolicy(uniform, 1);
  const metrics = await sftUpdate(policy, samples);
  expect(metrics.loss).toBeCloseTo(Math.log(3), 12);
  expect(metrics.optimiserSteps).toBe(1);
  expectClose(policy.weights[0], [
    [1 / 6, 1 / 6],
    [1 / 6, 1 / 6, 1 / 6, 1 / 6],
  ]);
});

test("steps bring the cross-entropy down to that of the demonstrations' own frequencies", async () => {
  const policy = new TablePolicy(uniform, 1);
  for (let step = 0; step < 3000; step++) await sftUpdate(policy, samples);
  //  after 0: 1, 1    after 1: 2, 1, 2    after 2: 0    so only the token after 1 is uncertain
  const entropy = -(2 * Math.log(2 / 3) + Math.log(1 / 3)) / 6;
  // Sure tokens approach probability 1 as 1/steps.
  expect((await sftUpdate(policy, samples)).loss).toBeCloseTo(entropy, 2);
});

test("nothing to learn from is an error, not a step", async () => {
  const policy = new TablePolicy(uniform, 1);
  await expect(sftUpdate(policy, [])).rejects.toThrow(ShapeError);
  expect(policy.steps).toEqual([]);
});
