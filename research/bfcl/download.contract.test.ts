import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { invoke } from "../command-line.fixture.ts";
import { folder, serve } from "./download.fixture.ts";
import { downloadData } from "./download.ts";
import { checksums, readVerified } from "./files.ts";

const data = join(import.meta.dirname, "../../../shared/bfcl/data");

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
