import { expect, test } from "vitest";
import { indexLine } from "../../src/runs/index-file.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { entryAt, facetsOf, filterIndex, findPosition, type TrajectoryFilter } from "./filter.ts";

const line = (source: "train" | "after", step: number, more: object = {}) => {
  const all = [
    trajectoryOf(`${source}-${step}/0/0`, { task: "test/1", kind: "find+call", reward: 1 }),
    trajectoryOf(`${source}-${step}/0/1`, { task: "test/12", kind: "pay", reward: 0.5, stopReason: "max-turns" }),
    trajectoryOf(`${source}-${step}/1/0`, { task: "test/2", kind: "", reward: 0, stopReason: "agent-error" }),
  ];
  return indexLine({ file: `${source}-${step}`, source, step, ...more } as Parameters<typeof indexLine>[0], all, [0, 1, 2, 3]);
};
const lines = [line("train", 1), line("train", 2), line("after", 2, { split: "test" })];

test.each<[TrajectoryFilter, readonly string[]]>([
  [{ source: "after" }, ["after-2/0/0", "after-2/0/1", "after-2/1/0"]],
  [{ split: "test", success: true }, ["after-2/0/0"]],
  [{ split: "challenge" }, []],
  [{ source: "train", fromStep: 2 }, ["train-2/0/0", "train-2/0/1", "train-2/1/0"]],
  [{ source: "train", toStep: 1 }, ["train-1/0/0", "train-1/0/1", "train-1/1/0"]],
  [{ fromStep: 3 }, []],
  [{ toStep: 0 }, []],
  [{ source: "after", success: false }, ["after-2/0/1", "after-2/1/0"]],
  // A part of the task's id; one whole kind of several.
  [{ source: "after", task: "test/1" }, ["after-2/0/0", "after-2/0/1"]],
  [{ source: "after", kind: "call" }, ["after-2/0/0"]],
  [{ source: "after", kind: "cal" }, []],
  [{ source: "after", group: "after-2/0" }, ["after-2/0/0", "after-2/0/1"]],
  [{ source: "after", group: "after-2" }, []],
  [{ source: "after", stop: "max-turns" }, ["after-2/0/1"]],
  [{ source: "after", stop: "max" }, []],
  [{ source: "after", minReward: 0.5 }, ["after-2/0/0", "after-2/0/1"]],
  [{ source: "after", maxReward: 0.5 }, ["after-2/0/1", "after-2/1/0"]],
  [
    { source: "after", minReward: 0.5, maxReward: 0.5, kind: "pay", stop: "max-turns", task: "12", success: false },
    ["after-2/0/1"],
  ],
])("the filter %j", (filter, ids) => {
  expect(filterIndex(lines, filter).map((position) => entryAt(position).id)).toEqual(ids);
});

test("without a condition all pass, in the index's order", () => {
  expect(filterIndex(lines, {}).map(({ line: { file }, at }) => `${file} ${at}`)).toEqual(
    ["train-1", "train-2", "after-2"].flatMap((file) => [0, 1, 2].map((at) => `${file} ${at}`)),
  );
});

test("an entry has what the index knows", () => {
  expect(entryAt({ line: lines[2], at: 1 })).toEqual({
    ...{ id: "after-2/0/1", source: "after", split: "test", step: 2, task: "test/12", kind: "pay", group: "after-2/0" },
    ...{ stop: "max-turns", reward: 0.5, success: false, turns: 2, tokens: 5, toolCalls: 1, entropy: expect.any(Number) },
  });
  expect(entryAt({ line: lines[0], at: 0 })).toMatchObject({ split: undefined, success: true });
  expect(() => entryAt({ line: lines[0], at: 3 })).toThrow("row 3 of the index of train-1");
});

test("an id is found, the newest first, and facets are the values that there are", () => {
  expect(findPosition(lines, "train-2/0/1")).toEqual({ line: lines[1], at: 1 });
  const twice = [...lines, { ...lines[0], file: "again" }];
  expect(findPosition(twice, "train-1/1/0")).toEqual({ line: twice[3], at: 2 });
  expect(findPosition(lines, "none")).toBeUndefined();
  expect(facetsOf(lines)).toEqual({
    ...{ sources: ["after", "train"], kinds: ["call", "find", "pay"] },
    ...{ stops: ["agent-error", "done", "max-turns"], trajectories: 9 },
  });
});
