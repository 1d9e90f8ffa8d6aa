import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import "../../test/loopback.ts";
import { folder, serve } from "./download.fixture.ts";
import { downloadData } from "./download.ts";
import { fetchFile } from "./fetch-file.ts";
import { readVerified } from "./files.ts";

test("files of another version are refused and not kept", async () => {
  const source = await serve(() => Buffer.from('{"id": "multi_turn_base_0"}\n'));
  const to = folder();
  await expect(downloadData({ folder: to, source })).rejects.toThrow(/^SHA-256 of http.*expected/);
  expect(existsSync(join(to, "BFCL_v4_multi_turn_base.json"))).toBe(false);
});

test("a source without the files is named", async () => {
  const source = await serve(() => 404);
  await expect(downloadData({ folder: folder(), source })).rejects.toThrow("--from names another source");
});

test("a folder that is not there and one without the files are distinguished, with what to do in every command", () => {
  const [name, empty] = ["BFCL_v4_multi_turn_base.json", folder()];
  expect(() => readVerified(join(empty, "no"), name)).toThrow(
    /the folder with BFCL's data is ".*no"; expected a folder that is there/,
  );
  expect(() => readVerified(empty, name)).toThrow(/BFCL_v4_multi_turn_base.json in .* is missing; expected the 16 files/);
});

test("a file is fetched again after faults that may pass, and is as large as allowed at most", async () => {
  let requests = 0;
  const source = await serve((path) =>
    path.endsWith("/big") ? Buffer.alloc(11) : ++requests === 1 ? 503 : Buffer.from("whole"),
  );
  expect(Buffer.from(await fetchFile(`${source}/name`, 10)).toString()).toBe("whole");
  expect(requests).toBe(2);
  await expect(fetchFile(`${source}/big`, 10)).rejects.toThrow(/^size of .*\/big is .*; expected at most 10 bytes/);
});
