import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import { RetrogradeError } from "../../src/core/errors.ts";
import { requireWhole } from "../../src/runs/checkpoints.ts";
import { damageOf } from "../../src/runs/checksums.ts";
import { layout } from "../../src/runs/layout.ts";
import { appendMessage, readLive, writeLive } from "../../src/runs/live.ts";
import { listRuns, readEpisodes, readEvaluations, readProgress } from "../../src/runs/read.ts";
import type { Summary } from "../../src/runs/records.ts";
import { lockRun } from "../../src/runs/run-lock.ts";
import { addStep, newRun, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { keepTokenizer, tokenizerFolder } from "../../src/runs/tokenizer-files.ts";
import { finishRun, reopenRun } from "../../src/runs/write.ts";
import { readIndex, TrajectoryReader } from "./read-index.ts";
import { bait, filesOf, kinds, withSpecial } from "./special-files.fixture.ts";
import { contentOf, WarnedError, wholeRun } from "./whole-run.fixture.ts";

const posix = process.platform !== "win32";
let folder: string;
beforeAll(async () => {
  folder = await wholeRun();
  const model = join(dirname(folder), "base");
  mkdirSync(model);
  writeFileSync(join(model, "tokenizer.json"), "{}");
  await keepTokenizer(folder, model);
});
afterEach(() => rmSync(join(folder, ".lock"), { force: true }));

/** All that is read of a run. */
async function readAll(): Promise<unknown> {
  return [
    await contentOf(folder),
    readEvaluations(folder).map((evaluation) => readEpisodes(folder, evaluation)),
    readIndex(folder).map((line) => new TrajectoryReader(folder).read(line, 0)),
    tokenizerFolder(folder),
    damageOf(layout.model(folder)) ?? "whole",
    [1, 2].map((step) => [readProgress(folder, step), requireWhole(folder, step)]),
  ];
}

test.skipIf(!posix)(
  "each file of a run that is a device, a pipe, a folder or a link is refused at once, by every reader",
  async () => {
    const whole = JSON.stringify(await readAll());
    const files = filesOf(folder);
    expect(files.length).toBeGreaterThan(23);
    for (const file of files)
      for (const kind of kinds)
        await withSpecial(join(folder, file), kind, async () => {
          const read = await readAll().then(JSON.stringify, (error: unknown) => error);
          const refused = read instanceof RetrogradeError || read instanceof WarnedError;
          expect(
            refused || (typeof read === "string" && read !== whole),
            `${file} as a ${kind}: ${String(read).slice(0, 200)}`,
          ).toBe(true);
        });
  },
  60_000,
);

test.skipIf(!posix)("a bad run harms no other in the list, whatever its run.json is", async () => {
  for (const kind of kinds)
    await withSpecial(layout.run(folder), kind, () => {
      const { runs, damaged } = listRuns(dirname(folder));
      expect([runs.length, damaged.map((each) => each.folder)], kind).toEqual([0, [folder]]);
      expect(damaged[0]?.error).toContain(`is a ${kind === "device" ? "link" : kind}, not a file`);
    });
});

test.skipIf(!posix)("what is read beside the records is refused or unknown: the lock, the live state", async () => {
  writeFileSync(join(folder, ".lock"), "1");
  for (const kind of ["device", "pipe"] as const)
    await withSpecial(join(folder, ".lock"), kind, () => expect(() => lockRun(folder)).toThrow(/is a (link|pipe), not a file/));
  writeLive(folder, { step: 1, phase: "update", done: 0, total: 1, tokens: 0 });
  expect(readLive(folder)?.step).toBe(1);
  for (const kind of kinds) await withSpecial(layout.live(folder), kind, () => expect(readLive(folder)).toBeUndefined());
  rmSync(layout.live(folder));
});

test.skipIf(!posix)("nothing is written through a link: the file that it leads to stays, and so do files beside it", async () => {
  const own = newRun();
  addStep(own, 1, [trajectoryOf("step-1/0/0")]);
  const target = bait(own);
  const elsewhere = join(dirname(own), "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "step-000009.jsonl.gz"), "mine");
  const writers: readonly (readonly [string, () => unknown])[] = [
    [layout.messages(own), () => appendMessage(own, { level: "notice", step: 1, message: "x" })],
    [layout.index(own), () => addStep(own, 2, [trajectoryOf("step-2/0/0")])],
    [layout.metrics(own), () => addStep(own, 2, [trajectoryOf("step-2/0/0")])],
    [layout.timing(own), () => addStep(own, 2, [trajectoryOf("step-2/0/0")])],
    [join(own, ".live.json.unfinished"), () => writeLive(own, { step: 1, phase: "x", done: 0, total: 1, tokens: 0 })],
    [join(own, ".summary.json.unfinished"), () => finishRun(own, {} as Summary, async () => {})],
    [layout.summary(own), () => finishRun(own, {} as Summary, async () => {})],
    [join(own, "trajectories", ".step-000002.jsonl.gz.unfinished"), () => addStep(own, 2, [trajectoryOf("step-2/0/0")])],
  ];
  for (const [path, write] of writers) {
    rmSync(path, { force: true });
    symlinkSync(target, path);
    await Promise.resolve()
      .then(write)
      .catch((error: unknown) => expect(error, path).toBeInstanceOf(RetrogradeError));
    expect(readFileSync(target, "utf8"), path).toBe("as it was\n");
    rmSync(path, { force: true });
  }
  for (const [parent, write] of [
    [
      layout.trajectoryFolder(own),
      () => reopenRun(own, { seed: 1, steps: 9, algorithm: { kind: "grpo" }, environment: { name: "office" } }),
    ],
  ] as const) {
    rmSync(parent, { recursive: true, force: true });
    symlinkSync(elsewhere, parent);
    expect(write, parent).toThrow(/is a link, not a folder/);
    rmSync(parent);
  }
  expect(readdirSync(elsewhere)).toEqual(["step-000009.jsonl.gz"]);
  expect(existsSync(join(own, ".live.json.unfinished"))).toBe(false);
});
