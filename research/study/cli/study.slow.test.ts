import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sealed, unsealed } from "../../../src/runs/seal.ts";
import { invoke as invokeProgram } from "../../command-line.fixture.ts";
import { runOutcomeSchema } from "../outcome.ts";
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

test("a run that is made once more is compared with the published one, and its report replaces no page", async () => {
  const own = join(folder, "own.ts");
  const page = join(folder, "published.md");
  writeFileSync(own, `export default ${JSON.stringify({ ...smallDefinition, page })};\n`);
  const run = ["--run", "near.a.0.0001.1"];
  expect((await invoke(own, ...run)).out).toMatch(/^near\.a\.0\.0001\.1 .* end [^\n]*\n$/);
  const mine = join(folder, "mine");
  expect((await invoke(own, ...run, "--out", mine)).out).toContain(
    "equal to the published run in every task of every evaluation",
  );
  const path = join(folder, "own", "outcomes.jsonl");
  const outcome = runOutcomeSchema.parse(unsealed(readFileSync(path, "utf8").trim()));
  writeFileSync(path, `${sealed(JSON.stringify({ ...outcome, optimiserSteps: 7 }))}\n`);
  rmSync(mine, { recursive: true });
  expect((await invoke(own, ...run, "--out", mine)).out).toContain("not equal to the published run: ");
  expect((await invoke(own, "--report", "--out", mine)).out).toContain(join(mine, "README.md"));
  expect(existsSync(page)).toBe(false);
});
