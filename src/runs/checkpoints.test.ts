import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { newestWhole, writeCheckpoint } from "./checkpoints.ts";
import { layout } from "./layout.ts";

const progress = { step: 0, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };
const saveState = async (into: string) => writeFileSync(join(into, "weights.bin"), Buffer.alloc(1000, 7));

let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "retrograde-checkpoints-"));
  for (const step of [2, 4]) await writeCheckpoint(folder, { ...progress, step }, { saveState, dropState: async () => {} }, 2);
});

const weights = (step: number) => join(layout.checkpoint(folder, step), "engine", "weights.bin");

function newest(): { step: number; warnings: string[] } {
  const warnings: string[] = [];
  const step = newestWhole(folder, (message) => warnings.push(message));
  return { step, warnings };
}

function flipBit(path: string): void {
  const bytes = readFileSync(path);
  bytes[500] ^= 4;
  writeFileSync(path, bytes);
}

test("the newest checkpoint is taken, without a word, if it is as it was written", () => {
  expect(newest()).toEqual({ step: 4, warnings: [] });
});

test.each([
  ["a flipped bit", () => flipBit(weights(4)), "engine/weights.bin has another checksum than when it was written"],
  ["a truncated file", () => truncateSync(weights(4), 900), "engine/weights.bin has 900 bytes of 1000"],
  ["a missing file", () => rmSync(weights(4)), "engine/weights.bin is missing"],
  [
    "a damaged list of checksums",
    () => writeFileSync(join(layout.checkpoint(folder, 4), "checksums.json"), "{"),
    "checksums.json is unreadable",
  ],
])("%s in the newest checkpoint leads to the older one, with a warning", (_, damage, reason) => {
  damage();
  expect(newest()).toEqual({
    step: 2,
    warnings: [`The checkpoint of step 4 is damaged (${reason}): continuing from that of step 2.`],
  });
});

test("where every checkpoint is damaged, nothing is thrown away", () => {
  for (const step of [2, 4]) flipBit(weights(step));
  expect(newest).toThrow(/checkpoints is "damaged \(engine\/weights\.bin has another checksum/);
});

test("a checkpoint is of the run.json that it was written under", async () => {
  writeFileSync(layout.run(folder), '{"seed": 1}');
  await writeCheckpoint(folder, { ...progress, step: 6 }, { saveState, dropState: async () => {} }, 1);
  expect(newest()).toEqual({ step: 6, warnings: [] });
  writeFileSync(layout.run(folder), '{"seed": 3}');
  expect(newest).toThrow("written under another run.json");
});
