import { expect, test } from "vitest";
import { z } from "zod";
import { acts } from "../core/acts.ts";
import { defineEnvironment } from "./define.ts";
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
