import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./house.ts";

/** Worlds, engines, wires, benchmarks and formats that extensions bring: the core knows them as entries of its tables. */
const guests =
  /(?<![a-z])(office|tinker|openenv|ors|nemo|miniwob|promptfoo|webwalker|gaia|verifiers|appworld|bfcl|hotpotqa|knowledge|ollama|sharegpt|alpaca|tensorboard)(?![a-z])/gi;

test("the core names no guest outside of comments", () => {
  const found = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .map((path) => `src/${path.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(path))
    .flatMap((path) => {
      const code = readFileSync(join(root, path), "utf8").replaceAll(/\/\*.*?\*\/|(?<=^|\s)\/\/[^\n]*/gs, "");
      const named = code.match(guests)?.length ?? 0;
      return named === 0 ? [] : [[path, named] as const];
    });
  expect(Object.fromEntries(found)).toEqual({});
});
