import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { invoke } from "../../test/command-line.ts";
import { packageVersion } from "../runs/write.ts";
import { errorText } from "./error-text.ts";

const scratch = mkdtempSync(join(tmpdir(), "retrograde-"));
mkdirSync(join(scratch, "taken"));
writeFileSync(join(scratch, "taken", "thesis.txt"), "");
mkdirSync(join(scratch, "empty"));
const model = join(scratch, "model");
mkdirSync(model);
writeFileSync(join(model, "config.json"), "{}");

const questions = join(scratch, "questions.jsonl");
writeFileSync(questions, `${JSON.stringify({ question: "How high is it?", answer: "421" })}\n`);

/** What a new user may get wrong, what it prints, and the exit code. */
const mistakes: readonly (readonly [string, string, number])[] = [
  ["trian", "unknown command 'trian'\n(Did you mean train?)", 2],
  ["train --stpes 3", "unknown option '--stpes'\n(Did you mean --steps?)", 2],
  ["train --steps", "option '--steps <n>' argument missing", 2],
  ["train office", "too many arguments for 'train'", 2],
  ["train --steps many", 'steps is "many"; expected a number.', 2],
  ["train --group-size 0", "rollout.groupSize is 0; expected at least 1.", 2],
  [
    "train --env ofice",
    'environment.name is "ofice"; expected "conversations", "office", "calculation", "calculator", "miniwob"',
    2,
  ],
  ["env check office --no-sampling --set environment.settings.difficulty=huge", 'environment.settings.difficulty is "huge"', 2],
  ["train --env answers", "environment.settings", 2],
  ["scan agent.ts", "retrograde-rl check agent.ts --tasks tasks.jsonl", 2],
  ["scan missing.jsonl", 'environment.settings.data is "missing.jsonl"; expected a file of JSON lines', 2],
  ["scan ofice", 'Did you mean "office"?', 2],
  ["eval --env ofice", 'Did you mean "office"?', 2],
  ["train --algorithm seupo", 'Did you mean "seeupo"?', 2],
  ["sft --env miniwob", "environment.settings", 2],
  ["sft --data missing.jsonl", 'algorithm.data is "missing.jsonl"; expected a JSONL file of conversations', 2],
  ["eval --env calendar", "An environment of your own goes into retrograde.config.ts", 2],
  ["train --set algorithm.order=revers", 'Did you mean "reverse"?', 2],
  ["train --set optimizer.learningrate=1", 'Did you mean "learningRate"?', 2],
  ["train --set steps", "expected path.to.setting=value", 2],
  ["train --model nowhere", 'model is "nowhere"; expected a folder with config.json', 2],
  [`train --model ${scratch}/empty`, "The folder is there, but it has no config.json.", 2],
  [`train --model ${model} --out ${scratch}/taken`, "Choose another one with --out.", 1],
  [`train --resume --out ${scratch}/empty`, "expected a folder with a run.json", 1],
  ["train --config missing.ts", '--config is "missing.ts"', 2],
  [
    "eval --split tset",
    'evaluation.split is "tset"; expected "train", "validation", "test", "challenge", "names", "phrasings", "pairs" or "length". Did you mean "test"?',
    2,
  ],
  ["runs show", "missing required argument 'folder'", 2],
  ["runs show nowhere", "`retrograde-rl runs` lists the runs that are there.", 1],
];

test.each(mistakes)("retrograde %s", async (line, message, exitCode) => {
  const result = await invoke(...line.split(" "));
  expect(result.error).toContain(message);
  expect(result.error).not.toContain("    at ");
  expect(result.exitCode).toBe(exitCode);
});

test("--help teaches: what a command does, every flag's default, examples", async () => {
  const { out, exitCode } = await invoke("train", "--help");
  expect(exitCode).toBe(0);
  expect(out).toContain("Without options: the default\nmodel in the default world.");
  expect(out).toMatch(/--group-size <n> +rollouts of each task \(default: 8\)/);
  expect(out).toContain("train --resume --out runs/short");
});

test("--debug shows where an error comes from", async () => {
  const { error, exitCode } = await invoke("train", "--model", "nowhere", "--debug");
  expect(error).toMatch(/^ConfigError: model is "nowhere".*\n +at /s);
  expect(exitCode).toBe(2);
});

test("an option that is not honoured is refused before anything is loaded; the version is the package's", async () => {
  expect((await invoke("train", "--dry-run", "--open")).error).toMatch(
    /^error: --open is true; expected not to be given with --dry-run\./,
  );
  expect(await invoke("--version")).toEqual({ exitCode: 0, out: `${packageVersion()}\n`, error: "" });
  expect((await invoke("trian")).error).toMatch(/\(--help shows what there is\)\n/);
});

test("without a command the help is printed", async () => {
  const { error, exitCode } = await invoke();
  expect(error).toContain("Usage: retrograde");
  expect(exitCode).toBe(2);
});

test("a folder without runs says how to make one", async () => {
  expect((await invoke("runs", "--in", scratch)).out).toMatch(/There is no run in .* Start one: .* train/);
});

test("an error of the file system says what to do about it", () => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  expect(errorText(full, false)).toBe(
    "error: ENOSPC: no space left on device, write. The disk is full: free some space, then start again.\n",
  );
});

test("the stack and the cause are shown only with --debug", () => {
  const error = new Error("it broke", { cause: new Error("a deeper reason") });
  expect(errorText(error, false)).toBe("error: it broke\nThis should not have happened; --debug shows where it did.\n");
  expect(errorText(error, true)).toMatch(/it broke\n +at [\s\S]*caused by Error: a deeper reason\n +at /);
});
