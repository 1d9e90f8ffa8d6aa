import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { office } from "../research/recipes/office.ts";
import { trainTokenizer } from "../research/recipes/tokenizer.ts";
import { readMetrics, readRun } from "../src/runs/read.ts";
import { writeTinyModel } from "./tiny-model.ts";

const example = join(import.meta.dirname, "../examples/own-environment.ts");
/** By its file: the examples run in folders from which no package is found. */
const loader = join(import.meta.dirname, "../node_modules/jiti/lib/jiti-register.mjs");
const run = promisify(execFile);

test("the example of an own environment trains a model from code, in under 20 lines", async () => {
  const code = readFileSync(example, "utf8").replace(/^\/\*\*.*?\*\//s, "");
  expect(code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThan(20);

  const folder = mkdtempSync(join(tmpdir(), "retrograde-example-"));
  await writeTinyModel(join(folder, "model"), trainTokenizer([], { ...office, vocabularySize: 400 }));
  const { stdout } = await run(process.execPath, ["--import", loader, example, join(folder, "model"), "1"], {
    cwd: folder,
  });
  expect(stdout).toMatch(/^success \d\.\d\d → \d\.\d\d$/m);
  expect(readMetrics(join(folder, "runs/calendar-seeupo-1"))).toHaveLength(1);
  expect(readRun(join(folder, "runs/calendar-seeupo-1")).config).toMatchObject({
    environment: { name: "calendar" },
    steps: 1,
  });
});
