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

test("what the engine cannot do, and what only its opening shows, in whole lines", () => {
  const tail = (...given: Parameters<typeof dryRunLines>) => {
    const lines = dryRunLines(...given);
    return lines.slice(lines.findIndex((line) => line.startsWith("The engine")));
  };
  const engine = { kind: "tinker", url: "http://x", model: "m" } as const;
  expect(tail({ algorithm: "ppo", engine, rollout: { temperature: 0.5 } }, {}, {}, ["one", "two"])).toEqual([
    'The engine "tinker" cannot honour:',
    '  algorithm.kind = "ppo" needs "critic"',
    '  rollout.temperature = 0.5 needs "tempered-logprobs"; without it: 1',
    '  checkpoint.exact = true needs "full-precision-state"; without it: false',
    "Only known once the engine is there (a probe or the device decides):",
    '  optimizer.clipNorm = 1 needs "gradient-clipping"; without it: "off"',
    `  optimizer.beta1 = 0.9 needs "adam-settings"; without it: the server's own`,
    "Notes of the configuration file:",
    "  one",
    "  two",
    "Nothing was started.",
  ]);
  expect(tail({}, {})).toEqual([
    'The engine "local" cannot honour:',
    "  nothing of the above is refused",
    "Nothing was started.",
  ]);
});

test("lists and empty objects are values, and what is not given has no line", () => {
  const user = { stop: undefined, chat: { template: { a: 1, b: null } }, limits: {} } as never;
  expect(lineOf("chat.template.a", user, {})).toBe("  chat.template.a = 1  [configuration file]");
  expect(lineOf("chat.template.b", user, {})).toBe("  chat.template.b = null  [configuration file]");
  expect(lineOf("chat.template", { chat: { template: {} } } as never, {})).toBe("  chat.template = {}  [configuration file]");
  expect(dryRunLines(user, {}).join("\n")).not.toContain("undefined");
});

test("a value of the file that another kind has replaced is that kind's default", () => {
  const grpo = { kind: "grpo", klCoef: 0.5 } as const;
  expect(lineOf("algorithm.klCoef", { algorithm: grpo }, {})).toBe("  algorithm.klCoef = 0.5  [configuration file]");
  expect(lineOf("algorithm.klCoef", { algorithm: grpo }, { algorithm: { klCoef: 0.25 } as never })).toBe(
    "  algorithm.klCoef = 0.25  [command line]",
  );
  expect(lineOf("algorithm.klCoef", { algorithm: grpo }, { algorithm: "ppo" })).toMatch(/= 0 {2}\[default\]$/);
  expect(lineOf("environment.name", {}, { environment: { name: "office" } })).toMatch(/\[command line\]$/);
});
