import "../extensions/install.ts";
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RunError } from "../src/core/errors.ts";
import { layout } from "../src/runs/layout.ts";
import { checkpointSteps, readMetrics, readSummary } from "../src/runs/read.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import { lettersEnvironment } from "./letters.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** A disk of its own, which only an administrator of a Linux system can make. */
const root = mkdtempSync(join(tmpdir(), "retrograde-full-"));
const disk = mkdtempSync(join(tmpdir(), "retrograde-full-disk-"));
const mounted = attempt(() =>
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], { stdio: ["ignore", "ignore", "pipe"] }),
);
const filler = join(disk, "filler");
const model = join(root, "model");

beforeAll(() => writeTinyModel(model));
afterAll(() => {
  if (mounted) execFileSync("umount", ["--lazy", disk]);
  rmSync(root, { recursive: true, force: true });
});

test.skipIf(!mounted)(
  "a disk that fills while training ends the run with that reason; with room again it continues to the same end",
  async () => {
    const [straight, full] = [join(root, "straight"), join(disk, "run")];
    await train(straight);

    await expect(train(full, 3)).rejects.toThrow(RunError);
    expect(checkpointSteps(full).at(-1)).toBe(2);
    expect(readMetrics(full).length).toBeGreaterThanOrEqual(2);
    await expect(train(full)).rejects.toThrow(/expected space on the disk. The disk is full. Free some space/);
    await expect(train(join(disk, "other"))).rejects.toThrow(/expected space on the disk. The disk is full/);

    rmSync(filler);
    await train(full);
    expect(readSummary(full)?.steps).toBe(5);
    for (const file of [layout.metrics, (run: string) => join(layout.model(run), "model.safetensors")])
      expect(readFileSync(file(full)).equals(readFileSync(file(straight)))).toBe(true);
  },
);

test.skipIf(!mounted)("a read-only disk, and a file in place of a folder, are refused with that reason", async () => {
  execFileSync("mount", ["-o", "remount,ro", disk]);
  await expect(train(join(disk, "read-only/run"))).rejects.toThrow(/read-only\/run is "not written \(EROFS: .* read-only\)"/);
  execFileSync("mount", ["-o", "remount,rw", disk]);
  await expect(train(join(model, "config.json"))).rejects.toThrow(/config.json is "a file"; expected a new or empty folder/);
  await expect(train(join(model, "config.json/run"))).rejects.toThrow(
    /run is "not written \(ENOTDIR: a part of the path is a file\)"/,
  );
});

/** @param fillAt the disk is full from this step's end on */
async function train(out: string, fillAt?: number): Promise<void> {
  const config = {
    environment: lettersEnvironment(),
    model,
    rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 4 },
    evaluation: { tasks: 0 },
    checkpoint: { every: 1 },
    steps: 5,
    engine: { threads: 1 },
    out,
  };
  const plan = await planRun(config, { resume: existsSync(layout.run(out)) });
  await runPlan(plan, {
    onEvent: (event) => {
      if (event.type === "stepped" && event.record.step === fillAt) fill();
    },
  });
}

function fill(): void {
  for (const bytes of [2 ** 16, 2 ** 12, 1]) while (attempt(() => appendFileSync(filler, Buffer.alloc(bytes))));
}

/** @returns whether it went well */
function attempt(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
