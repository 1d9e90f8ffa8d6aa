import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError, EnvError, ModelError } from "../../../src/core/errors.ts";
import type { HubRequest } from "../../../test/hub-server.ts";
import { readCsv } from "./csv.ts";
import { fetchBenchmark } from "./fetch.ts";
import { selections } from "./selections.ts";
import { arpoAddress, type HubData, sources } from "./sources.ts";
import "../../../test/loopback.ts";
import { hubOf, jsonl, metadata, newFolder, parquet, serve } from "./fetch.fixture.ts";

test("a data set of another version is refused with its SHA-256, and nothing is written", async () => {
  const bytes = parquet({ id: ["1"], question: ["1 + 1?"], answer: ["two"] });
  const { fetch, folder } = await hubOf("hle", { "data/test-00000-of-00001.parquet": bytes });
  const digest = createHash("sha256").update(bytes).digest("hex");
  const error = await fetch().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EnvError);
  expect(error).toMatchObject({ value: digest, expected: expect.stringContaining("6d0ee0602e8a") });
  expect(existsSync(join(folder, "hle.jsonl"))).toBe(false);
});

test("records in another form name the record, the field and what was expected", async () => {
  const { fetch } = await hubOf("gaia", { [metadata]: parquet({ task_id: ["1"], Question: [""], "Final answer": ["a"] }) });
  await expect(fetch()).rejects.toThrow(/metadata\.parquet, row 0: Question/);
});

test("a gated data set says where to accept its terms and which variable holds the token", async () => {
  const gated = (request: HubRequest) =>
    // The second server, which has the large files, is never shown the token.
    !request.storage && request.path.includes("/resolve/") && request.authorization !== "Bearer hf_right"
      ? { status: 401, code: "GatedRepo" }
      : undefined;
  const ids = ["not", "in the", "selection"];
  const { fetch, hub } = await hubOf(
    "gaia",
    { [metadata]: parquet({ task_id: ids, Question: ids, "Final answer": ids, Level: [1, 2, 3] }) },
    gated,
  );
  const refused = fetch();
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(
    `Accept its terms at ${hub.endpoint}/datasets/gaia-benchmark/GAIA, and put a token of your account into HF_TOKEN.`,
  );
  await expect(fetch({ HF_TOKEN: "hf_wrong" })).rejects.toThrow("give the token in HF_TOKEN the right to read it");
  // With the right it is read; these are other questions than ARPO's 103.
  await expect(fetch({ HF_TOKEN: "hf_right" })).rejects.toThrow(/questions of gaia is "0 of 103"/);
});

test("a file that the commit lacks is named with those that it has", async () => {
  const { fetch } = await hubOf("gaia", { "2023/validation/other.parquet": "{}" });
  await expect(fetch()).rejects.toThrow(ModelError);
  await expect(fetch()).rejects.toThrow(
    /metadata\.parquet in dataset gaia-benchmark\/GAIA.*It has 2023\/validation\/other\.parquet/,
  );
});

test("xbench is decrypted with each record's key", () => {
  const key = "k1-日本";
  const secret = (plain: string) => {
    const bytes = Buffer.from(key);
    return Buffer.from(Buffer.from(plain).map((byte, i) => byte ^ bytes[i % bytes.length])).toString("base64");
  };
  const path = join(newFolder(), "DeepSearch.csv");
  writeFileSync(
    path,
    `\uFEFFid,prompt,answer,reference_steps,canary\r\n1,${secret("谁?")},${secret('"A", B')},"a ""b"",\nc",${key}\r\n`,
  );
  const records = readCsv(path);
  expect(records).toMatchObject([{ value: { reference_steps: 'a "b",\nc' } }]);
  expect(records.map((record, i) => (sources.xbench as HubData).convert(record, i))).toEqual([
    { id: "1", question: "谁?", answer: '"A", B' },
  ]);
  writeFileSync(path, "id,prompt\n1,");
  expect(readCsv(path)).toMatchObject([{ value: { id: "1", prompt: "" } }]);
  writeFileSync(path, Buffer.from("id\nKöln\n", "latin1"));
  expect(() => readCsv(path)).toThrow(/DeepSearch\.csv"; expected a CSV file. line 2 is not UTF-8/);
  writeFileSync(path, "id,prompt\n1,2,3\n");
  expect(() => readCsv(path)).toThrow(/row 0.*2 fields/);
});

test("another file than the pinned one is refused by its checksum", async () => {
  const from = await serve(() => Buffer.from(jsonl({ question: "q", answer: "a" })));
  const folder = newFolder();
  await expect(fetchBenchmark({ name: "aime24", folder, from })).rejects.toThrow(/^SHA-256 of http.*expected af2b8bd2/);
  await expect(fetchBenchmark({ name: "math", folder, from })).rejects.toThrow(/^git SHA-1 of http.*expected 9ef33348/);
  expect(existsSync(join(folder, "aime24.jsonl"))).toBe(false);
});

test("the questions of ARPO's evaluation are those of its commit", () => {
  expect(arpoAddress).toContain("dongguanting/ARPO/e257337");
  expect(selections.gaia.length / 8).toBe(103);
  expect(selections.hle.length / 8).toBe(500);
});
