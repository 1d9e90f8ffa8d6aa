import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { invoke as invokeProgram } from "../../command-line.fixture.ts";
import { smallDefinition } from "../small-study.fixture.ts";

let folder: string;
let file: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "retrograde-study-command-"));
  file = join(folder, "small.ts");
  writeFileSync(file, `export default ${JSON.stringify(smallDefinition)};\n`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const invoke = (...args: readonly string[]) => invokeProgram("study", ...args);

test("--dry-run prints arms, runs and hours of the part that is asked for, and starts nothing", async () => {
  const { out, exitCode } = await invoke(file, "--dry-run", "--arms", "a", "--seeds", "1", "--jobs", "2");
  expect(exitCode).toBe(0);
  expect(out).toContain(
    'b                        B                                    {"algorithm":{"kind":"grpo","miniBatches":2}}',
  );
  expect(out).toContain("2 arms: 8 runs that choose among rates (0.0001, 0.001) + 6 reported = 14 runs; 0 done");
  expect(out).toContain("5 runs left of what is asked for");
  expect(out).toContain("with 2 processes on idle cores.\nNothing was started.");
});

test("--report writes a page beside the study that says that nothing has run", async () => {
  const { out, exitCode } = await invoke(file, "--report");
  expect(exitCode).toBe(0);
  expect(out).toContain(join(folder, "small", "README.md"));
  expect(readFileSync(join(folder, "small", "README.md"), "utf8")).toContain("0 of 14 planned runs are done");
});

test.each([
  [["nowhere", "--dry-run"], 'study is "nowhere"; expected the name of a file in'],
  [["FILE", "--dry-run", "--arms", "a,z"], '--arms is "z"; expected "a", "b" or "c".'],
  [["FILE", "--dry-run", "--rates", "0.5"], "--rates is 0.5; expected 0.0001, 0.001 or 0.00001."],
  [["FILE", "--worlds", "moon"], '--worlds is "moon"; expected "near" or "far".'],
  [["FILE", "--jobs", "0"], '--jobs is "0"; expected a whole number from 1 on.'],
  [["FILE", "--run", "near.a.0.5.1"], "expected WORLD.ARM.RATE.SEED of the study's plan."],
])("study %s is refused before anything starts", async (args, message) => {
  const { error, exitCode } = await invoke(...args.map((part) => part.replace("FILE", file)));
  expect(error).toContain(message);
  expect(exitCode).toBe(2);
});
