import "../../test/office.ts";
import { expect, test } from "vitest";
import { dryRunLines } from "./dry-run.ts";

const lineOf = (path: string, ...given: Parameters<typeof dryRunLines>) =>
  dryRunLines(...given).find((line) => line.startsWith(`  ${path} = `));

test("each setting is shown with where it is from; the command line overrules the file", () => {
  const user = { steps: 7, seed: 3 };
  expect(lineOf("steps", user, { steps: 9 })).toBe("  steps = 9  [command line]");
  expect(lineOf("seed", user, { steps: 9 })).toBe("  seed = 3  [configuration file]");
  expect(lineOf("model", user, {})).toBe('  model = "default"  [default]');
});

test("a shorthand of a kind is where that kind is from, and what it replaced is not in effect", () => {
  expect(lineOf("algorithm.kind", { algorithm: "grpo" }, {})).toMatch(/= "grpo" {2}\[configuration file\]$/);
  expect(lineOf("algorithm.kind", { algorithm: "grpo" }, { algorithm: "seeupo" })).toMatch(/= "seeupo" {2}\[command line\]$/);
  expect(lineOf("environment.name", { environment: "office" }, {})).toMatch(/= "office" {2}\[configuration file\]$/);
});

test("a file's setting has the source of its nearest part", () => {
  const user = { rollout: { groupSize: 6, tasksPerStep: 5 }, steps: 2 };
  const sources = { rollout: "base.json", "rollout.groupSize": "mine.json" };
  const source = (path: string) => lineOf(path, user, {}, sources)?.replace(/.*\[/, "[");
  expect(["rollout.groupSize", "rollout.tasksPerStep", "steps"].map(source)).toEqual([
    "[mine.json]",
    "[base.json]",
    "[configuration file]",
  ]);
});

test("it says that nothing was started, what is refused or only known later, and the file's notes", () => {
  const lines = dryRunLines({}, {}, {}, ["a note"]);
  expect(lines[0]).toBe("Settings:");
  expect(lines.slice(-3)).toEqual(["Notes of the configuration file:", "  a note", "Nothing was started."]);
  const at = lines.indexOf('The engine "local" cannot honour:');
  expect(lines[at + 1]).toBe("  nothing of the above is refused");
  expect(dryRunLines({}, {})).not.toContain("Notes of the configuration file:");
  const refused = dryRunLines({ engine: { device: "webgpu" }, rollout: { ahead: 1 } }, {});
  expect(refused).toContainEqual(expect.stringMatching(/^ {2}rollout\.ahead = 1 needs "frozen-policies"/));
});
