import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { gpuPassBytes } from "./gpu-memory.ts";

afterEach(() => vi.unstubAllEnvs());

/** A driver's program that prints what it is asked, then some lines. */
async function withDriver(lines: string, check: () => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "retrograde-driver-"));
  const program = join(folder, "nvidia-smi");
  await writeFile(program, `#!/bin/sh\ncase "$*" in *memory.free*noheader*--id=1) echo 500 ;; *) printf '${lines}' ;; esac\n`);
  await chmod(program, 0o755);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH}`);
  check();
  await rm(folder, { recursive: true });
}

test.skipIf(process.platform === "win32")(
  "a pass may hold half of what is free on the GPU that is used, less what stays there",
  async () => {
    vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
    await withDriver("1000\\n2000\\n", () => {
      expect(gpuPassBytes(200 * 2 ** 20)).toBe(400 * 2 ** 20);
      vi.stubEnv("CUDA_VISIBLE_DEVICES", "1,0");
      expect(gpuPassBytes(100 * 2 ** 20)).toBe(200 * 2 ** 20);
    });
  },
);

test("without a driver, or where it says nothing, it is not known", async () => {
  await withDriver("[N/A]\\n", () => expect(gpuPassBytes(0)).toBeUndefined());
  vi.stubEnv("PATH", "/nowhere");
  expect(gpuPassBytes(0)).toBeUndefined();
});
