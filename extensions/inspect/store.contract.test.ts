import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMetrics } from "../../src/runs/read.ts";
import { addStep, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { createRun } from "../../src/runs/write.ts";
import { readIndex, TrajectoryReader } from "./read-index.ts";

// A real disk that is full: a file system of 256 KB in memory, which only root on Linux can make.
test.runIf(process.platform === "linux" && process.getuid?.() === 0)(
  "a disk that fills up while a run is recorded is said so, and what was written before stays whole and goes on",
  (context) => {
    const disk = mkdtempSync(join(tmpdir(), "retrograde-disk-"));
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], { stdio: "ignore" });
    } catch {
      return context.skip("no file system can be mounted here");
    }
    try {
      const folder = join(disk, "run");
      createRun(folder, { seed: 1, steps: 9, algorithm: { kind: "grpo" }, environment: { name: "office" } });
      addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
      const ballast = join(disk, "ballast");
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - 4096));
      const many = Array.from({ length: 64 }, (_, i) => trajectoryOf(`step-2/0/${i}`, { task: `${Math.random()}`.repeat(20) }));
      expect(() => addStep(folder, 2, many)).toThrow("The disk is full.");
      expect(readMetrics(folder).map(({ step }) => step)).toEqual([1]);
      // The step's trajectories may be there, whole, before the line of its metrics, which makes it a step.
      const reader = new TrajectoryReader(folder);
      for (const line of readIndex(folder)) for (const at of line.id.keys()) expect(reader.read(line, at).id).toBe(line.id[at]);
      rmSync(ballast);
      addStep(folder, 2, many);
      expect(readIndex(folder).map(({ id }) => id.length)).toEqual([1, 64]);
    } finally {
      execFileSync("umount", [disk], { stdio: "ignore" });
      rmSync(disk, { recursive: true });
    }
  },
);
