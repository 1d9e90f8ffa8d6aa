import { expect, test } from "vitest";
import type { z } from "zod";
import { actsOf } from "../../src/core/acts.ts";
import { longestTimer } from "../../src/core/timer.ts";
import { remoteEnvironments } from "./remote.ts";

const settingsOf = (wire: string) => (remoteEnvironments[wire] as unknown as { settings: z.ZodType }).settings;
const tasks = { train: "rows.jsonl" };
const needed: Record<string, object> = {
  ...{ openenv: {}, ors: {}, "nemo-gym": { tasks }, verifiers: { tasks, tokenizer: "m" } },
};

test("the wires, and what their settings are if nothing is said", () => {
  const shared = {
    ...{ timeoutMs: 60_000, maxAnswer: 16, maxOutput: 20_000, rewards: "return", sameStart: "require" },
    replayable: false,
  };
  const defaults = Object.fromEntries(
    Object.keys(remoteEnvironments).map((wire) => [wire, settingsOf(wire).parse(needed[wire])]),
  );
  expect(defaults).toEqual({
    openenv: { ...shared, executionErrors: "fault", connectTimeoutMs: 60_000, actions: "auto", reset: {}, tasks: "auto" },
    ors: { ...shared, executionErrors: "fault", secretVariables: {}, pingMs: 60_000, setupMs: 600_000 },
    "nemo-gym": { ...shared, tasks },
    verifiers: {
      ...{ maxAnswer: 16, tasks, tokenizer: "m", connectTimeoutMs: 60_000, rolloutTimeoutMs: 1_800_000 },
      ...{ host: "127.0.0.1", listen: "127.0.0.1", port: 0 },
    },
  });
});

test.each<[string, object, [kind: string, what: string][]]>([
  ["openenv", { keyVariable: "KEY" }, [["sends", "KEY"]]],
  [
    "ors",
    { keyVariable: "KEY", secretVariables: { a: "A" } },
    [
      ["sends", "KEY"],
      ["sends", "A"],
    ],
  ],
  [
    "nemo-gym",
    { tasks: { train: "a.jsonl", test: "b.jsonl" } },
    [
      ["reads", "a.jsonl"],
      ["reads", "b.jsonl"],
    ],
  ],
  ["verifiers", {}, [["reads", "rows.jsonl"]]],
  [
    "verifiers",
    { listen: "0.0.0.0" },
    [
      ["reads", "rows.jsonl"],
      ["listens", "0.0.0.0"],
    ],
  ],
])("what the settings of %s do with %j: %j", (wire, settings, expected) => {
  const schema = settingsOf(wire);
  expect(actsOf(schema, schema.parse({ ...needed[wire], ...settings })).map(({ kind, what }) => [kind, what])).toEqual(expected);
});

/** A setting, what is just allowed, and what is just not. */
const bounds: readonly (readonly [string, string, readonly unknown[], readonly unknown[]])[] = [
  ...["openenv", "ors", "nemo-gym"].flatMap((wire) => [
    [wire, "timeoutMs", [1, longestTimer], [0, longestTimer + 1, 1.5]] as const,
    [wire, "maxAnswer", [0.001], [0, -1]] as const,
    [wire, "maxOutput", [1], [0, 1.5]] as const,
    [wire, "concurrency", [1], [0, 1.5]] as const,
    [wire, "keyVariable", ["K"], [""]] as const,
    [wire, "rewards", ["turns"], ["sum"]] as const,
    [wire, "sameStart", ["ignore"], ["no"]] as const,
    [wire, "replayable", [true], ["yes"]] as const,
  ]),
  ["openenv", "executionErrors", ["tell"], ["no"]],
  ["openenv", "connectTimeoutMs", [1, longestTimer], [0, longestTimer + 1]],
  ["openenv", "actions", ["tools", "schema", "text"], ["none"]],
  ["openenv", "show", [["a"]], [[], "a"]],
  ["openenv", "tasks", ["seeds", "listed"], ["none"]],
  ["openenv", "resets", [{ train: [{}] }], [{ train: [] }, []]],
  ["ors", "executionErrors", ["tell"], ["no"]],
  ["ors", "environment", ["a"], [""]],
  ["ors", "pingMs", [1, longestTimer], [0, longestTimer + 1]],
  ["ors", "setupMs", [1, longestTimer], [0, longestTimer + 1]],
  ["ors", "secretVariables", [{ a: "B" }], [{ a: "" }]],
  ["nemo-gym", "tasks", [{}], [{ train: "" }]],
  ["nemo-gym", "executionErrors", [], ["tell"]],
  ["verifiers", "tasks", [{}], [{ train: "" }]],
  ["verifiers", "tokenizer", ["a"], [""]],
  ["verifiers", "connectTimeoutMs", [1, longestTimer], [0, longestTimer + 1]],
  ["verifiers", "rolloutTimeoutMs", [1, longestTimer], [0, longestTimer + 1]],
  ["verifiers", "port", [0, 65_535], [-1, 65_536]],
];

test.each(bounds)("%s: %s may be %j and not %j", (wire, name, allowed, refused) => {
  const parse = (value: unknown) => settingsOf(wire).safeParse({ ...needed[wire], [name]: value }).success;
  expect(allowed.map(parse)).toEqual(allowed.map(() => true));
  expect(refused.map(parse)).toEqual(refused.map(() => false));
});
