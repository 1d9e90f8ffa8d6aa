import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { benchmarkEnvironment } from "../benchmarks.ts";
import { type BenchmarkName, benchmarks } from "../table.ts";
import { newFolder, serve } from "./fetch.fixture.ts";
import { fetchBenchmark } from "./fetch.ts";
import { verifyQuestions } from "./verify.ts";

const shared = join(import.meta.dirname, "../../../../shared/benchmarks/eval");

test.skipIf(!existsSync(shared))(
  "the files of ARPO's evaluation are fetched, verified and read (../shared/benchmarks)",
  async () => {
    const from = await serve((path) => {
      const file = join(shared, `${path.split("/")[1]}.jsonl`);
      return existsSync(file) ? readFileSync(file) : undefined;
    });
    const folder = newFolder();
    const { origin } = await fetchBenchmark({ name: "hotpotqa", folder, from });
    expect(origin).toMatchObject({ source: "arpo", questions: 200, revision: expect.stringMatching(/^e257337/) });
    expect(
      await benchmarkEnvironment("hotpotqa", { data: folder, search: { kind: "searxng", url: "http://localhost:1" } }).size(
        "test",
      ),
    ).toBe(200);
    await expect(fetchBenchmark({ name: "gsm8k", folder, from })).rejects.toThrow(/status of .*gsm8k/);
  },
);

test.skipIf(!existsSync(shared))("every file of ARPO's evaluation is one of the known versions (../shared/benchmarks)", () => {
  for (const [name, { files }] of Object.entries(benchmarks) as [BenchmarkName, { files: readonly string[] }][]) {
    const file = files.map((each) => join(shared, each)).find((path) => existsSync(path));
    if (file !== undefined) expect(verifyQuestions(name, file), name).toBe("arpo");
  }
});
