import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { onTestFinished } from "vitest";
import { type HubOptions, startHub } from "../../../test/hub-server.ts";
import type { BenchmarkName } from "../table.ts";
import { fetchBenchmark } from "./fetch.ts";
import { type HubData, sources } from "./sources.ts";

export const newFolder = () => mkdtempSync(join(tmpdir(), "questions-"));
export const text = (data: readonly (string | number)[], name: string) => ({ name, data: [...data] });
export const parquet = (columns: Readonly<Record<string, readonly (string | number)[]>>) =>
  Buffer.from(parquetWriteBuffer({ columnData: Object.entries(columns).map(([name, data]) => text(data, name)) }));
export const jsonl = (...rows: object[]) => rows.map((row) => JSON.stringify(row)).join("\n");

/** A Hub that has a benchmark's data set at its pinned commit, with files of our own. */
export async function hubOf(name: BenchmarkName, files: HubOptions["files"], trouble?: HubOptions["trouble"]) {
  const { repo, revision: commit } = sources[name] as HubData;
  const hub = await startHub(undefined, { repo, kind: "dataset", commit, files, ...(trouble && { trouble }) });
  const env = { HF_ENDPOINT: hub.endpoint, HF_HOME: newFolder() };
  const folder = newFolder();
  return {
    hub,
    folder,
    fetch: (more = {}, published = sources) => fetchBenchmark({ name, folder, env: { ...env, ...more }, published }),
  };
}

export const metadata = "2023/validation/metadata.parquet";

export async function serve(answer: (path: string) => Buffer | undefined): Promise<string> {
  const server = createServer((request, response) => {
    const body = answer(request.url ?? "");
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
