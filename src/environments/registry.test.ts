import { expect, test } from "vitest";
import { z } from "zod";
import { acts } from "../core/acts.ts";
import { defineEnvironment } from "./define.ts";
import { namesOf, splitsOf, splitWithTasks } from "./environment.ts";
import { addEnvironments, createEnvironment, environmentActs, environmentSchemas } from "./registry.ts";

const environment = defineEnvironment({ name: "noting", tasks: [], start: () => ({ tools: [] }) });

test("environments by name and by address: settings, acts, schemas, and what is near a name that is none", () => {
  const settings = z.object({ file: acts.reads(z.string()).default("a") });
  const made: unknown[] = [];
  const create = (given: unknown) => {
    made.push(given);
    return environment;
  };
  const connect = (name: string, given: unknown) => ({ ...environment, name: `${name} ${JSON.stringify(given)}` });
  addEnvironments(
    { "registry-known": { create, settings, acts: [{ kind: "starts", what: "node" }] }, "registry-own": create },
    { "registry-wire": { connect, settings } },
  );
  expect(createEnvironment("registry-known", { a: 1 }).name).toBe("noting");
  expect(createEnvironment("registry-own", 5).name).toBe("noting");
  expect(made).toEqual([{ a: 1 }, 5]);
  expect(createEnvironment("registry-wire:http://x:1", {}).name).toBe("registry-wire:http://x:1 {}");
  expect(environmentActs("registry-known", undefined)).toEqual([
    { kind: "starts", what: "node" },
    { kind: "reads", what: "a" },
  ]);
  expect(environmentActs("registry-known", { file: 5 })).toEqual([{ kind: "starts", what: "node" }]);
  expect(environmentActs("registry-wire:http://x:1", { file: "b" })).toEqual([
    { kind: "connects", what: "http://x:1" },
    { kind: "reads", what: "b" },
  ]);
  expect([
    environmentActs("registry-own", {}),
    environmentActs("registry-own", undefined),
    environmentActs("nowhere", {}),
  ]).toEqual([...[[], [], []]]);
  expect(environmentActs("registry-own", { a: 1 })).toEqual([
    { kind: "runs", what: "the code of the environment registry-own with settings that only it knows" },
  ]);
  const schemas = environmentSchemas();
  expect([schemas.get("registry-known"), schemas.get("registry-own"), schemas.get("registry-wire:")]).toEqual([
    ...[settings, undefined, settings],
  ]);
  expect(() => createEnvironment("registry-knwn", {})).toThrow(
    /environment\.name is "registry-knwn"; .*"registry-wire:ADDRESS".* Did you mean "registry-known"\?/,
  );
  expect(() => createEnvironment("something else entirely", {})).toThrow(
    "An environment of your own goes into retrograde.config.ts as an object.",
  );
});

test("conversations of no environment are in one that has a task to look at, no tools and nothing to train on", async () => {
  const conversations = createEnvironment("conversations", undefined);
  expect([conversations.splits, conversations.size("test"), conversations.size("train")]).toEqual([["test"], 1, 0]);
  const task = await conversations.task("test", 0);
  const episode = await conversations.start(task, 1);
  expect([task.id, episode.messages, episode.tools]).toEqual(["test/0", [{ role: "user", content: "Hello." }], []]);
  expect(await episode.score([])).toEqual({ reward: 0 });
});

test("the first split that has tasks is taken, the preferred one before it", async () => {
  const sized = (sizes: Readonly<Record<string, number>>, splits?: readonly string[]) => ({
    size: (split: string) => sizes[split] ?? 0,
    ...(splits && { splits }),
  });
  expect(await splitWithTasks(sized({ test: 2, challenge: 1 }))).toBe("test");
  expect(await splitWithTasks(sized({ test: 2, challenge: 1 }), "challenge")).toBe("challenge");
  expect(await splitWithTasks(sized({ test: 2, challenge: 1 }), "train")).toBe("test");
  expect(await splitWithTasks(sized({ test: 2, own: 1 }), "own")).toBe("test"); // it is none of its splits
  expect(await splitWithTasks(sized({ test: 2, own: 1 }, ["own"]))).toBe("own");
  expect(await splitWithTasks(sized({}))).toBeUndefined();
  expect(splitsOf({})).toEqual(["train", "validation", "test", "challenge"]);
  expect(namesOf({ id: "a", kind: "k", scenario: "s" })).toEqual({ task: "a", kind: "k", scenario: "s" });
  expect(Object.keys(namesOf({ id: "a" }))).toEqual(["task"]);
});
