import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import "./office.ts";
import { readSummary } from "../src/runs/read.ts";
import { invoke } from "./command-line.ts";

/** The guide of docs/agent-in-an-hour.md, on the desk of examples/desk: what it prints is run, with the bundled model and few steps. */

const root = join(import.meta.dirname, "..");
// Inside of the project, so that the agent finds its packages.
const folder = mkdtempSync(join(root, "node_modules/.desk-"));
const before = process.cwd();
beforeAll(() => {
  cpSync(join(root, "examples/desk"), folder, { recursive: true });
  const tasks = join(folder, "tasks.jsonl");
  writeFileSync(tasks, readFileSync(tasks, "utf8").split("\n").slice(0, 24).join("\n"));
  process.chdir(folder);
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

const page = readFileSync(join(root, "docs/agent-in-an-hour.md"), "utf8");
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, block = ""]) => block.replaceAll("\\\n", " ").split("\n"))
  .flatMap((line) => {
    const [, command] = /^(?:npx )?retrograde-rl (.*)$/.exec(line.trim()) ?? [];
    return command === undefined ? [] : [command.replace("smollm2", "bundled:office").split(/\s+/)];
  });

/** Options that shorten a command: of one that is given twice the last counts. */
const short: Readonly<Record<string, readonly string[]>> = {
  check: [],
  "train-agent": [
    ...["--demonstrations", "8", "--sft-steps", "1", "--steps", "1", "--tasks-per-step", "1", "--group-size", "2"],
    ...["--set", "evaluation.tasks=2", "--set", "evaluation.k=1", "--set", "rollout.maxTokens=24", "--threads", "1"],
    ...["--no-dashboard", "--out", "runs/desk"],
  ],
};

test("each command of the guide runs, and the three folders that it names are there", async () => {
  expect(commands.map(([name]) => name)).toEqual(["check", "train-agent"]);
  for (const [name = "", ...words] of commands) {
    const { exitCode, error, out } = await invoke(name, ...words, ...(short[name] ?? []));
    expect({ name, exitCode, error }).toEqual({ name, exitCode: 0, error: "" });
    expect(out).toContain(name === "check" ? "Nothing found" : "Demonstrations: 8 of 8 attempts kept");
  }
  for (const run of ["desk", "desk-sft"]) expect(readSummary(join(folder, "runs", run))).toMatchObject({ steps: 1 });
  expect(existsSync(join(folder, "runs/desk-demonstrations/demonstrations.jsonl"))).toBe(true);
});
