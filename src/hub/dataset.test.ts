import "../../test/loopback.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hubCommit, startHub } from "../../test/hub-server.ts";
import { fetchDataset } from "./dataset.ts";
import type { HubEvent } from "./fetch.ts";
import { hubSettings } from "./settings.ts";

const files = { "a.jsonl": "first", "b.jsonl": "second!", "README.md": "words" };
async function setUp() {
  const hub = await startHub(undefined, { kind: "dataset", repo: "tiny/rows", files });
  const home = mkdtempSync(join(tmpdir(), "retrograde-rows-"));
  const events: HubEvent[] = [];
  const fetch = (paths: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const settings = hubSettings({ HF_ENDPOINT: hub.endpoint, HF_HOME: home, ...env });
    return fetchDataset({ repo: "tiny/rows", revision: undefined }, paths, { settings, onEvent: (event) => events.push(event) });
  };
  return { hub, home, events, fetch };
}

test("the files that are asked for are fetched, verified and kept, with the bytes of all of them", async () => {
  const { hub, home, events, fetch } = await setUp();
  const fetched = await fetch(["b.jsonl", "a.jsonl"]);
  const snapshot = join(home, "hub/datasets--tiny--rows/snapshots", hubCommit);
  expect(fetched).toEqual({
    commit: hubCommit,
    files: ["b.jsonl", "a.jsonl"].map((path) => ({ path, file: join(snapshot, path) })),
  });
  expect(fetched.files.map(({ file }) => readFileSync(file, "utf8"))).toEqual(["second!", "first"]);
  expect(hub.fetched()).toEqual(["b.jsonl", "a.jsonl"]);
  const progress = events.map((event) => event.type === "progress" && [event.done, event.total]);
  expect(progress.every((each) => Array.isArray(each) && each[1] === 12)).toBe(true);
  expect(progress.at(-1)).toEqual([12, 12]);
  expect(progress).toContainEqual([7, 12]);
  // Offline what was fetched serves, and only that.
  expect(await fetch(["a.jsonl"], { HF_HUB_OFFLINE: "1" })).toEqual({ ...fetched, files: fetched.files.slice(1) });
  await expect(fetch(["README.md"], { HF_HUB_OFFLINE: "1" })).rejects.toThrow(
    /dataset tiny\/rows from .* is "not in the cache, and HF_HUB_OFFLINE is set"/,
  );
});

test("a file that the commit does not have is named, beside those that it has", async () => {
  const { fetch } = await setUp();
  await expect(fetch(["a.jsonl", "c.jsonl"])).rejects.toThrow(
    `c.jsonl in dataset tiny/rows is missing; expected a file of commit ${hubCommit.slice(0, 12)}. It has a.jsonl, b.jsonl, README.md.`,
  );
});
