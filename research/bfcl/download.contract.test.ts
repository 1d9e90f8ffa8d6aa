import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { invoke } from "../command-line.fixture.ts";
import { downloadData } from "./download.ts";
import { checksums, readVerified } from "./files.ts";

const data = join(import.meta.dirname, "../../../shared/bfcl/data");
let server: Server | undefined;
afterEach(() => server?.close());

async function serve(answer: (path: string) => Buffer | number): Promise<string> {
  server = createServer((request, response) => {
    const body = answer(request.url ?? "");
    response.writeHead(typeof body === "number" ? body : 200).end(typeof body === "number" ? "" : body);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/files`;
}

const folder = () => mkdtempSync(join(tmpdir(), "bfcl-"));

test.skipIf(!existsSync(data))("files are downloaded once and verified (skipped where ../shared/bfcl is not there)", async () => {
  let requests = 0;
  const source = await serve((path) => {
    requests++;
    return readFileSync(join(data, path.replace("/files/", "")));
  });
  const to = folder();
  await downloadData({ folder: to, source });
  expect(requests).toBe(Object.keys(checksums).length);
  for (const name of Object.keys(checksums)) expect(readVerified(to, name)).not.toBe("");
  // A file that was changed is fetched again, the others are not.
  writeFileSync(join(to, "BFCL_v4_multi_turn_base.json"), "{}");
  expect(() => readVerified(to, "BFCL_v4_multi_turn_base.json")).toThrow("It is a file of another version");
  await downloadData({ folder: to, source });
  expect(requests).toBe(Object.keys(checksums).length + 1);
});

test("what to do about missing files is said by every command", async () => {
  const empty = folder();
  const advised = ["eval", "--model", "bundled:office", "--env", "bfcl", "--set", `environment.settings.data=${empty}`];
  const { error, exitCode } = await invoke(...advised);
  expect({ error, exitCode }).toEqual({ error: expect.stringContaining(`.json in ${empty} is missing`), exitCode: 2 });
  expect(error).toContain("--set environment.settings.data=FOLDER");
});
