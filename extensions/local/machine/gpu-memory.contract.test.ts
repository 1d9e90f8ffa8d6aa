import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { gpuBytes, nvidiaCard } from "./gpu-memory.ts";

afterEach(() => vi.unstubAllEnvs());

/** A driver's program that prints one card, or what it is asked of the card with the number 1. */
async function withDriver(line: string, check: () => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "retrograde-driver-"));
  const program = join(folder, "nvidia-smi");
  await writeFile(
    program,
    `#!/bin/sh\ncase "$*" in *memory.free*noheader*--id=1) echo '500, 600, 580.1, B' ;; *) echo '${line}' ;; esac\n`,
  );
  await chmod(program, 0o755);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH}`);
  check();
  await rm(folder, { recursive: true });
}

const mebibyte = 2 ** 20;

test.skipIf(process.platform === "win32")("the card is the one that CUDA sees first", async () => {
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
  await withDriver("1000, 2000, 580.159, NVIDIA H100 80GB HBM3", () => {
    const first = { name: "NVIDIA H100 80GB HBM3", driver: "580.159" };
    expect(nvidiaCard()).toEqual({ ...first, freeBytes: 1000 * mebibyte, totalBytes: 2000 * mebibyte });
    vi.stubEnv("CUDA_VISIBLE_DEVICES", "1,0");
    expect(nvidiaCard()?.name).toBe("B");
  });
});

test("a pass holds half of what is free on the card that is used, less what stays there", async () => {
  vi.stubEnv("CUDA_VISIBLE_DEVICES", undefined);
  await withDriver("1000, 2000, 580, A", () => {
    expect(gpuBytes("pass", 200 * mebibyte)).toBe(400 * mebibyte);
    expect(gpuBytes("pass", 2000 * mebibyte)).toBe(0);
  });
});

test("without a driver, or where it says nothing, the card is not known", async () => {
  await withDriver("[N/A], [N/A], 580, A", () => expect(nvidiaCard()).toBeUndefined());
  vi.stubEnv("PATH", "/nowhere");
  expect(nvidiaCard()).toBeUndefined();
  expect(gpuBytes("pass", 0)).toBeUndefined();
});
