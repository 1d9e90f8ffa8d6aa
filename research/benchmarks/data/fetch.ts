import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type FileRecord, openRecords } from "../../../extensions/tools/records.ts";
import { EnvError } from "../../../src/core/errors.ts";
import { writeFileAtomic } from "../../../src/files/atomic.ts";
import { makeFolder } from "../../../src/files/folder.ts";
import { fetchDataset } from "../../../src/hub/dataset.ts";
import type { HubEvent } from "../../../src/hub/fetch.ts";
import { type HubSettings, hubSettings } from "../../../src/hub/settings.ts";
import { fetchFile } from "../../bfcl/fetch-file.ts";
import type { BenchmarkName } from "../table.ts";
import type { StoredQuestion } from "./convert.ts";
import { readCsv } from "./csv.ts";
import { type ArpoFile, arpoAddress, arpoCommit, type HubData, sources } from "./sources.ts";
import { digestOf, type Origin, originFile } from "./verify.ts";

export interface BenchmarkFetch {
  readonly name: BenchmarkName;
  /** `NAME.jsonl` and `NAME.source.json` are written there. */
  readonly folder: string;
  /** Another address with the same files: of ARPO's evaluation data, or of a Hub. */
  readonly from?: string;
  readonly onEvent?: (event: HubEvent) => void;
  readonly env?: NodeJS.ProcessEnv;
  /** Where questions are published. */
  readonly published?: typeof sources;
}

/** No file of ARPO's evaluation is larger than half of it. */
const maxBytes = 20_000_000;

/**
 * Downloads a benchmark's questions from where they are published, verifies them and writes them in one form.
 * @returns the file, and where its questions are from
 * @throws ConfigError if its terms were not accepted; EnvError if files are of another version
 */
export async function fetchBenchmark({
  name,
  folder,
  from,
  onEvent,
  env = process.env,
  published = sources,
}: BenchmarkFetch): Promise<{ readonly file: string; readonly origin: Origin }> {
  const source = published[name];
  const { text, origin } =
    "digest" in source
      ? await fetchArpo(name, source, from ?? arpoAddress)
      : await fetchHub(name, source, { ...hubSettings(env), ...(from === undefined ? {} : { endpoint: from }) }, onEvent);
  makeFolder(folder);
  const file = join(folder, `${name}.jsonl`);
  writeFileAtomic(file, text);
  writeFileAtomic(originFile(file), `${JSON.stringify(origin, null, 2)}\n`);
  return { file, origin };
}

type Fetched = { readonly text: string; readonly origin: Origin };

async function fetchArpo(name: BenchmarkName, { folder, digest }: ArpoFile, address: string): Promise<Fetched> {
  const url = `${address.replace(/\/+$/, "")}/${folder}/test.jsonl`;
  const bytes = await fetchFile(url, maxBytes);
  const found = digestOf(bytes, digest.algorithm);
  if (found !== digest.hex)
    throw new EnvError(`${digest.algorithm === "sha256" ? "SHA-256" : "git SHA-1"} of ${url}`, found, {
      expected: `${digest.hex}, the file of ARPO's commit ${arpoCommit.slice(0, 7)}`,
      hint: `It is another version of ${name}, or was changed: scores would not be comparable.`,
    });
  const text = Buffer.from(bytes).toString("utf8");
  const questions = text.split("\n").filter((line) => line.trim() !== "").length;
  const source = {
    source: "arpo" as const,
    address: url,
    revision: arpoCommit,
    files: { [`${folder}/test.jsonl`]: digestOf(bytes) },
  };
  return { text, origin: { benchmark: name, ...source, questions, sha256: digestOf(bytes) } };
}

async function fetchHub(
  name: BenchmarkName,
  { repo, revision, files, convert, selection }: HubData,
  settings: HubSettings,
  onEvent: ((event: HubEvent) => void) | undefined,
): Promise<Fetched> {
  const fetched = await fetchDataset({ repo, revision }, Object.keys(files), {
    settings,
    ...(onEvent === undefined ? {} : { onEvent }),
  });
  const records: FileRecord[] = [];
  const digests: Record<string, string> = {};
  for (const { path, file } of fetched.files) {
    const found = digestOf(readFileSync(file));
    digests[path] = found;
    if (files[path] !== undefined && found !== files[path])
      throw new EnvError(`SHA-256 of ${path} of ${repo}`, found, {
        expected: `${files[path]}, the file of revision ${revision.slice(0, 12)}`,
        hint: `It is another version of ${name}, or was changed: scores would not be comparable.`,
      });
    records.push(...(file.endsWith(".csv") ? readCsv(file) : await openRecords(file, convert.columns).read()));
  }
  const questions = selected(name, records.map(convert), selection);
  const text = `${questions.map((question) => JSON.stringify(question)).join("\n")}\n`;
  return {
    text,
    origin: {
      ...{ benchmark: name, source: "hub", address: `${settings.endpoint}/datasets/${repo}`, revision: fetched.commit },
      ...{ files: digests, questions: questions.length, sha256: digestOf(Buffer.from(text)) },
    },
  };
}

/** The questions of ARPO's evaluation, in its order. @throws EnvError if the data set lacks some */
function selected(name: BenchmarkName, all: readonly StoredQuestion[], selection: string | undefined): readonly StoredQuestion[] {
  if (selection === undefined) return all;
  const byDigest = new Map(all.map((question) => [shortDigest(question.id), question]));
  const wanted = selection.match(/.{8}/g) ?? [];
  const found = wanted.flatMap((digest) => byDigest.get(digest) ?? []);
  if (found.length === wanted.length) return found;
  throw new EnvError(`questions of ${name}`, `${found.length} of ${wanted.length}`, {
    expected: "all of the questions that ARPO's evaluation asks, by their ids",
    hint: "The data set is of another version.",
  });
}

function shortDigest(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 8);
}
