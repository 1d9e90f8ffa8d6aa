import { describe, expect, test } from "vitest";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import { splits } from "../../src/environments/environment.ts";
import { demonstrate } from "./demonstrations.ts";
import { isHeldOut, type KindName, kindNames } from "./kinds.ts";
import { officeClassicEnvironment } from "./office-classic.ts";
import { defaultKinds } from "./settings.ts";
import type { OfficeTask } from "./task.ts";

const pairs = (kinds: readonly KindName[]) => kinds.slice(1).map((kind, i) => [kinds[i], kind] as const);

async function tasks(settings: unknown, split: (typeof splits)[number], count: number): Promise<OfficeTask[]> {
  const office = officeClassicEnvironment(settings);
  return Promise.all(Array.from({ length: count }, (_, index) => office.task(split, index)));
}

describe.each(["small", "default", "large"])("at difficulty %s", (difficulty) => {
  const office = officeClassicEnvironment({ difficulty });

  test.each(splits.filter((split) => Number(office.size(split)) > 0))(
    "the expert solves every task of the %s split",
    async (split) => {
      const failed: unknown[] = [];
      for (const task of await tasks({ difficulty }, split, 2000)) {
        const { score, messages } = demonstrate(task, randomStream(1));
        if (score.reward !== 1) failed.push({ task: task.id, score, messages });
      }
      expect(failed).toEqual([]);
    },
  );
});

test("an index always gives the same task, and every index and split another one", async () => {
  const all = (await Promise.all(splits.map((split) => tasks({}, split, 300)))).flat();
  const again = (await Promise.all(splits.map((split) => tasks({}, split, 300)))).flat();
  expect(JSON.stringify(again)).toBe(JSON.stringify(all));
  expect(new Set(all.map(({ world, requests }) => JSON.stringify([world, requests]))).size).toBe(all.length);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
});

test("an episode that is given the same actions goes the same way", async () => {
  for (const task of await tasks({ difficulty: "large" }, "train", 50))
    expect(demonstrate(task, randomStream(1))).toEqual(demonstrate(task, randomStream(2)));
});

test.each(["default", "large"])("held-out pairs follow each other in the challenge split only (%s)", async (difficulty) => {
  for (const split of splits) {
    for (const { kinds } of await tasks({ difficulty }, split, 1000)) {
      expect(pairs(kinds).some(([first, second]) => isHeldOut(first, second))).toBe(split === "challenge");
    }
  }
});

test("every kind is trained, and tested in a pair that was not", async () => {
  const trained = new Set((await tasks({ difficulty: "large" }, "train", 1000)).flatMap(({ kinds }) => kinds));
  expect([...trained].sort()).toEqual([...kindNames].sort());
  const challenged = (await tasks({}, "challenge", 1000))
    .flatMap(({ kinds }) => pairs(kinds))
    .filter(([a, b]) => isHeldOut(a, b));
  expect(new Set(challenged.flat())).toEqual(new Set(defaultKinds));
});

test("a kind may always follow itself, so that every choice of kinds has tasks outside of the challenge split", () => {
  expect(kindNames.filter((kind) => isHeldOut(kind, kind))).toEqual([]);
});

test("there are tasks for one kind alone, however many requests are asked for", async () => {
  for (const kind of kindNames) {
    const [first] = await tasks({ difficulty: "large", kinds: [kind, "pay"], requests: { min: 8, max: 8 } }, "train", 1);
    expect(first.requests).toHaveLength(8);
  }
});

test("there is no challenge where no held-out pair can occur", async () => {
  const single = officeClassicEnvironment({ difficulty: "small" });
  expect(single.size("challenge")).toBe(0);
  expect(() => single.task("challenge", 0)).toThrow(EnvError);
  // also_pay comes second at the earliest, and tell_when right after it third.
  const kinds = ["pay", "also_pay", "tell_when"];
  expect(officeClassicEnvironment({ kinds: ["pay", "message"] }).size("challenge")).toBe(0);
  expect(officeClassicEnvironment({ kinds: ["message", "also_pay"], requests: { min: 2, max: 2 } }).size("challenge")).toBe(
    Infinity,
  );
  expect(officeClassicEnvironment({ kinds: ["pay", "also_pay"], requests: { min: 2, max: 2 } }).size("challenge")).toBe(0);
  const [task] = await tasks({ kinds: kinds.filter((kind) => kind !== "pay").concat("same", "pay") }, "challenge", 1);
  expect(task.requests.length).toBeGreaterThan(1);
});

test("the settings choose kinds and number of requests", async () => {
  for (const { kinds, kind, requests } of await tasks({ kinds: ["pay", "when"], requests: { min: 2, max: 2 } }, "train", 50)) {
    expect(kinds).toHaveLength(2);
    expect(kind).toBe(kinds.join("+"));
    expect(requests.map((request) => request.kind)).toEqual(kinds);
    expect(kinds.every((name) => ["pay", "when"].includes(name))).toBe(true);
  }
});

test("busy decides in how many episodes a tool fails once", async () => {
  const busy = async (share: number) =>
    (await tasks({ busy: share }, "train", 300)).filter(({ world }) => world.busy !== undefined).length;
  expect(await busy(0)).toBe(0);
  expect(await busy(1)).toBe(300);
});

test.each([
  [{ difficulty: "huge" }, "environment.settings.difficulty"],
  [{ kinds: ["pya"] }, "environment.settings.kinds.0"],
  [{ kinds: ["also_pay"] }, "environment.settings.kinds"],
  [{ kinds: [] }, "environment.settings.kinds"],
  [{ requests: { min: 3, max: 1 } }, "environment.settings.requests"],
  [{ reward: "shaped" }, "environment.settings.reward"],
  [{ rewards: "sparse" }, "environment.settings.rewards"],
])("settings %j are refused, naming %s", (settings, subject) => {
  expect(() => officeClassicEnvironment(settings)).toThrow(ConfigError);
  expect(() => officeClassicEnvironment(settings)).toThrow(subject);
});
