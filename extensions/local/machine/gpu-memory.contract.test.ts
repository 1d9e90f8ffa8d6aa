import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { gpuPassBytes, passBytesOn } from "./gpu-memory.ts";

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

test.skipIf(process.platform === "win32")("a pass may hold two fifths of what is free on the GPU that is used", async () => {
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
  await withDriver("1000\\n2000\\n", () => {
    expect(gpuPassBytes()).toBe(400 * 2 ** 20);
    vi.stubEnv("CUDA_VISIBLE_DEVICES", "1,0");
    expect(gpuPassBytes()).toBe(200 * 2 ** 20);
  });
});

test("on the processor a pass holds what was planned, on CUDA what the GPU has, and on another GPU the default", async () => {
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
  await withDriver("1000\\n", () => {
    expect(passBytesOn("cpu", 7)).toBe(7);
    expect(passBytesOn("cuda", 7)).toBe(400 * 2 ** 20);
    expect(passBytesOn("webgpu", 7)).toBeUndefined();
  });
});

test("without a driver, or where it says nothing, it is not known", async () => {
  await withDriver("[N/A]\\n", () => expect(gpuPassBytes()).toBeUndefined());
  vi.stubEnv("PATH", "/nowhere");
  expect(gpuPassBytes()).toBeUndefined();
});
