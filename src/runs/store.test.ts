import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { layout } from "./layout.ts";
import { appendMessage, readLive, readMessages, writeLive } from "./live.ts";
import { readRun } from "./read.ts";
import { sealed } from "./seal.ts";
import { newRun } from "./store.fixture.ts";

test("what a newer version wrote is refused by both versions' names, not half understood", () => {
  const folder = newRun();
  const record = JSON.parse(readFileSync(layout.run(folder), "utf8"));
  writeFileSync(layout.run(folder), sealed(JSON.stringify({ ...record, schema: 99, config: "of another shape" })));
  expect(() => readRun(folder)).toThrow(/schema version 99.*up to 2.*Update/s);
});

test("the process that works on a run is seen while it lives, and messages keep their order", () => {
  const folder = newRun();
  expect(readLive(folder)).toBeUndefined();
  writeLive(folder, { step: 3, phase: "rollout", done: 1, total: 4, tokens: 20 });
  expect(readLive(folder)).toMatchObject({ step: 3, phase: "rollout", done: 1 });
  const live = JSON.parse(readFileSync(layout.live(folder), "utf8"));
  writeFileSync(layout.live(folder), JSON.stringify({ ...live, pid: 2 ** 22 + 1 }));
  expect(readLive(folder)).toBeUndefined();
  for (const message of ["one", "two"]) appendMessage(folder, { level: "warning", step: 1, message });
  expect(readMessages(folder).map(({ message }) => message)).toEqual(["one", "two"]);
});
