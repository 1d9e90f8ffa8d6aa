import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../../src/core/errors.ts";
import { parseRemoteName } from "./address.ts";
import { RemoteEnvError } from "./problem.ts";
import { Rewards } from "./rewards.ts";
import { readRows } from "./rows.ts";
import { SameStart } from "./same-start.ts";
import { accessOf, capacityHint, declared, keyOf } from "./settings.ts";
import { errorText, notCalled, serverTool } from "./tool.ts";

test.each([
  ["openenv:wss://host:1/a//", "wss://host:1/a"],
  ["openenv:https://host", "https://host"],
  ["ors:http://host:1/", "http://host:1"],
  ["verifiers:ipc:///tmp/x", "ipc:///tmp/x"],
  ["nemo-gym:https://host/x", "https://host/x"],
])("%s is at %s", (name, address) => {
  expect(parseRemoteName(name)).toBe(address);
});

test.each([
  ["ors:ws://host", /expected ors:http:\/\/HOST:PORT or ors:https:\/\/HOST:PORT/],
  ["verifiers:http://host", /expected verifiers:tcp:\/\/HOST:PORT or verifiers:ipc:/],
  ["nemo-gym:", /expected nemo-gym:http:/],
  ["ors:http://me@host", /ors:http:\/\/\[key\]@host/],
  ["ors:http://:pw@host", /without a name and password/],
])("%s is refused", (name, message) => {
  expect(() => parseRemoteName(name)).toThrow(ConfigError);
  expect(() => parseRemoteName(name)).toThrow(message);
});

test.each([
  [undefined, undefined, /to less than rollout\.concurrency,/],
  [undefined, 4, /to 4,/],
  [8, undefined, /to less than 8,/],
  [8, 4, /to 4,/],
  [4, 4, /is 4, which fits/],
  [2, 4, /is 2, which fits/],
])("with concurrency %s of %s places the hint says what to do", (concurrency, most, hint) => {
  expect(capacityHint({ ...(concurrency === undefined ? {} : { concurrency }) }, most)).toMatch(hint);
});

test("a server is asked within the limits of the settings, with the key of the variable that they name", () => {
  const settings = { timeoutMs: 5, maxAnswer: 0.5, concurrency: 3 };
  expect(accessOf(settings)).toEqual({ timeoutMs: 5, maxBytes: 524_288, headers: {}, secrets: [], concurrency: 3 });
  process.env.REMOTE_SHARED_KEY = "k1";
  try {
    const keyed = { timeoutMs: 5, maxAnswer: 1, keyVariable: "REMOTE_SHARED_KEY" };
    expect(accessOf(keyed)).toEqual({
      timeoutMs: 5,
      maxBytes: 2 ** 20,
      headers: { authorization: "Bearer k1" },
      secrets: ["k1"],
    });
    expect(accessOf(keyed, (key) => ({ "x-api-key": key })).headers).toEqual({ "x-api-key": "k1" });
  } finally {
    delete process.env.REMOTE_SHARED_KEY;
  }
  expect(keyOf({})).toBeUndefined();
  for (const variables of [{}, { A: "" }])
    expect(() => keyOf({ keyVariable: "A" }, variables)).toThrow(/keyVariable is "A".*Set it before the command: A=…/);
});

test("an environment declares what its settings say", () => {
  expect(declared("a", { replayable: true, rewards: "turns", concurrency: 2 })).toEqual({
    ...{ name: "a", replayable: true, turnRewards: true, concurrency: 2 },
  });
  expect(declared("a", { replayable: false, rewards: "return" })).toEqual({ name: "a", replayable: false, turnRewards: false });
});

test("rewards are added up to the return, or left with their turns; true is 1, and null is none", () => {
  const sum = new Rewards({ rewards: "return" }, "W");
  for (const reward of [0.5, null, undefined, true, -2]) expect(sum.give(reward, false)).toEqual({});
  expect(sum.score()).toEqual({ reward: -0.5 });
  const turns = new Rewards({ rewards: "turns" }, "W");
  expect([turns.give(0, false), turns.give(null, false), turns.give(true, true)]).toEqual([{ reward: 0 }, {}, { reward: 1 }]);
  expect(turns.score()).toEqual({ reward: 0 });
});

test("an episode that ends without any reward is a fault; one that had a reward before may end with none", () => {
  expect(() => new Rewards({ rewards: "return" }, "W 1").give(null, true)).toThrow(/no answer before has one \(W 1\)/);
  const given = new Rewards({ rewards: "return" }, "W");
  given.give(0, false);
  expect(given.give(null, true)).toEqual({});
});

test("rows are read by split, and named by line", () => {
  const folder = mkdtempSync(join(tmpdir(), "rows-"));
  const [good, bad] = [join(folder, "good.jsonl"), join(folder, "bad.jsonl")];
  writeFileSync(good, '{"a":1}\n\n  \n{"a":2}\n');
  writeFileSync(bad, '{"a":1}\n\n[1]\n');
  expect(readRows({ train: good, hard: good })).toEqual(new Map(["train", "hard"].map((split) => [split, [{ a: 1 }, { a: 2 }]])));
  expect(() => readRows({ test: bad })).toThrow(/settings\.tasks\.test, .*bad\.jsonl line 3 is "\[1\]"; expected a JSON object/);
  expect(() => readRows({ test: folder })).toThrow(/settings\.tasks\.test is .*a file of tasks in JSONL.*remote\.md/);
});

const says = (content: string) => [{ role: "user" as const, content }];

test("a task that begins otherwise is refused, also after 9,999 others; then the oldest is forgotten", () => {
  const same = new SameStart({ sameStart: "require" });
  for (let i = 0; i < 10_000; i++) same.check(`t${i}`, says("a"));
  same.check("t0", says("a"));
  expect(() => same.check("t0", says("b"))).toThrow(/beginning of task t0/);
  same.check("one more", says("a"));
  expect(() => same.check("t1", says("b"))).toThrow(RemoteEnvError);
  same.check("t0", says("b"));
});

test("where the beginning does not matter, none is refused", () => {
  const same = new SameStart({ sameStart: "ignore" });
  for (const content of ["a", "b"]) expect(() => same.check("t", says(content))).not.toThrow();
});

test("a server's tool is described here and answered there; its errors begin with Error once", () => {
  const parameters = { type: "object", properties: {} } as const;
  const tool = serverTool({ name: "n", description: "d", parameters }, { replayable: true });
  expect(tool).toEqual({ name: "n", description: "d", parameters, replayable: true, execute: notCalled });
  expect(() => notCalled()).toThrow(/called by itself/);
  expect([errorText("no"), errorText("Error: no")]).toEqual(["Error: no", "Error: no"]);
});
