import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError, EnvError, ModelError } from "../../../src/core/errors.ts";
import type { HubRequest } from "../../../test/hub-server.ts";
import { converters } from "./convert.ts";
import { readCsv } from "./csv.ts";
import { fetchBenchmark } from "./fetch.ts";
import { selections } from "./selections.ts";
import { arpoAddress, arpoCommit, type HubData, sources } from "./sources.ts";
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

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

test("a file of ARPO's evaluation is kept as it is published, with where it is from", async () => {
  const bytes = Buffer.from(`${jsonl({ question: "q", answer: "a" }, { question: "r", answer: "b" })}\n \n`);
  const asked: string[] = [];
  const from = await serve((path) => {
    asked.push(path);
    return bytes;
  });
  const folder = join(newFolder(), "new");
  const gitSha1 = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
  for (const digest of [{ algorithm: "sha256", hex: sha256(bytes) } as const, { algorithm: "git-sha1", hex: gitSha1 } as const]) {
    const published = { ...sources, math: { folder: "MATH", digest } };
    const { file, origin } = await fetchBenchmark({ name: "math", folder, from: `${from}//`, published });
    expect(file).toBe(join(folder, "math.jsonl"));
    expect(readFileSync(file)).toEqual(bytes);
    expect(origin).toEqual({
      ...{ benchmark: "math", source: "arpo", address: `${from}/MATH/test.jsonl`, revision: arpoCommit, questions: 2 },
      ...{ files: { "MATH/test.jsonl": sha256(bytes) }, sha256: sha256(bytes) },
    });
    expect(readFileSync(join(folder, "math.source.json"), "utf8")).toBe(`${JSON.stringify(origin, null, 2)}\n`);
  }
  expect(asked).toEqual(["/MATH/test.jsonl", "/MATH/test.jsonl"]);
});

test("a data set of the Hub is written in one form: those questions that ARPO asks, in its order", async () => {
  const bytes = parquet({ id: ["1", "2", "3"], question: ["a?", "b?", "c?"], answer: ["x", "y", "z"] });
  const path = "data/test-00000-of-00001.parquet";
  const short = (id: string) => sha256(id).slice(0, 8);
  const hle = { ...(sources.hle as HubData), files: { [path]: sha256(bytes) }, selection: `${short("3")}${short("1")}` };
  const { fetch, hub } = await hubOf("hle", { [path]: bytes });
  const { file, origin } = await fetch({}, { ...sources, hle });
  const text = `${jsonl({ id: "3", question: "c?", answer: "z" }, { id: "1", question: "a?", answer: "x" })}\n`;
  expect(readFileSync(file, "utf8")).toBe(text);
  expect(origin).toEqual({
    ...{ benchmark: "hle", source: "hub", address: `${hub.endpoint}/datasets/cais/hle`, revision: hle.revision },
    ...{ files: { [path]: sha256(bytes) }, questions: 2, sha256: sha256(text) },
  });
  await expect(fetch({}, { ...sources, hle: { ...hle, selection: `${short("3")}${short("4")}` } })).rejects.toThrow(
    /questions of hle is "1 of 2"; expected all of the questions that ARPO's evaluation asks, by their ids/,
  );
  const { selection: _, ...all } = hle;
  expect((await fetch({}, { ...sources, hle: all })).origin.questions).toBe(3);
});

test("records of each data set become questions, by their own ids or their places", () => {
  const { gaia, hle, xbench } = converters;
  const of = (value: object) => ({ value, where: "r" });
  expect(gaia(of({ task_id: "t", Question: "q", "Final answer": 7, Level: 1 }), 0)).toEqual({
    id: "t",
    question: "q",
    answer: "7",
  });
  expect(hle(of({ id: "h", question: "q", answer: "a" }), 0)).toEqual({ id: "h", question: "q", answer: "a" });
  const secret = (plain: string) => Buffer.from(Buffer.from(plain).map((byte) => byte ^ "k".charCodeAt(0))).toString("base64");
  const row = { prompt: secret("q"), answer: secret("a"), canary: "k" };
  expect([xbench(of(row), 4).id, xbench(of({ ...row, id: 9 }), 4).id]).toEqual(["4", "9"]);
  expect([gaia.columns, hle.columns, xbench.columns]).toEqual([
    ...[
      ["task_id", "Question", "Final answer"],
      ["id", "question", "answer"],
      ["id", "prompt", "answer", "canary"],
    ],
  ]);
  expect(() => hle(of({ id: "h", question: "q" }), 0)).toThrow(/^r: answer is missing; expected/);
  expect(() => hle(of({ id: "h", question: "q", answer: "" }), 0)).toThrow(/^r: answer/);
  expect(() => hle({ value: 5, where: "r" } as never, 0)).toThrow(/^r: the record is missing; expected .*pinned revision/);
});

test("the questions of ARPO's evaluation are those of its commit", () => {
  expect(arpoAddress).toContain("dongguanting/ARPO/e257337");
  expect(selections.gaia.length / 8).toBe(103);
  expect(selections.hle.length / 8).toBe(500);
  const published = Object.entries(sources);
  const folders = published.flatMap(([name, source]) => ("digest" in source ? [[name, source.folder]] : []));
  expect(folders.filter(([name, folder]) => name !== folder)).toEqual([["simpleqa", "SimpleQA"]]);
  const digests = published.flatMap(([name, source]) =>
    "digest" in source ? [`${name} ${source.digest.algorithm} ${source.digest.hex}`] : [`${name} sha256 ${source.known}`],
  );
  expect(new Set(digests).size).toBe(14);
  for (const digest of digests) expect(digest).toMatch(/^\w+ (sha256 [0-9a-f]{64}|git-sha1 [0-9a-f]{40})$/);
  const hub = published.flatMap(([name, source]) =>
    "repo" in source ? [[name, source.repo, source.revision.length, Object.keys(source.files)]] : [],
  );
  expect(hub).toEqual([
    ["gaia", "gaia-benchmark/GAIA", 40, [metadata]],
    ["hle", "cais/hle", 40, ["data/test-00000-of-00001.parquet"]],
    ["xbench", "xbench/DeepSearch", 40, ["DeepSearch.csv"]],
  ]);
});
