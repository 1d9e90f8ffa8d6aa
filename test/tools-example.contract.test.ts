import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { office } from "../research/recipes/office.ts";
import { trainTokenizer } from "../research/recipes/tokenizer.ts";
import { readMetrics } from "../src/runs/read.ts";
import { writeTinyModel } from "./tiny-model.ts";

const loader = join(import.meta.dirname, "../node_modules/jiti/lib/jiti-register.mjs");

test.each([
  ["with the Python tool", "python-tool.ts", "calculation"],
  ["in a protocol, with search and Python", "search-and-python.ts", "peaks"],
])("the example %s runs from code, and ends by itself", async (_, file, name) => {
  const example = join(import.meta.dirname, "../examples", file);
  const folder = mkdtempSync(join(tmpdir(), "retrograde-example-"));
  await writeTinyModel(join(folder, "model"), trainTokenizer([], { ...office, vocabularySize: 400 }));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--import", loader, example, join(folder, "model"), "1"], { cwd: folder });
  expect(stdout).toMatch(/^(success|reward) -?\d\.\d\d → -?\d\.\d\d$/m);
  expect(readMetrics(join(folder, `runs/${name}-seeupo-1`))).toHaveLength(1);
});
