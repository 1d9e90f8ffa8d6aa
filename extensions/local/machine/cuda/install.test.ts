import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { gigabytes, installationBytes, installationError, requireCudaSystem } from "./install.ts";
import { cudaFolder, holds, installedCuda } from "./installed.ts";
import { cudaRuntime, cudaWheels } from "./packages.ts";

const home = mkdtempSync(join(tmpdir(), "retrograde-cuda-"));
afterAll(() => rmSync(home, { recursive: true }));
const runtime = { file: join(home, "runtime.so"), version: cudaRuntime };
writeFileSync(runtime.file, "runtime");

const one = { name: "one", version: "1" };
const linux = { platform: "linux", arch: "x64", glibc: "2.39" };

test.each([
  ["/usr/bin/python3: No module named pip", /^pip is missing; .*python3-pip/],
  ["spawn python3 ENOENT", /^pip is missing/],
  ["OSError: [Errno 28] No space left on device", /^one 1 is "not written: the disk is full"/],
  ["[Errno 122] Disk quota exceeded", /^one 1 is "not written: the disk is full"/],
  ["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", /^SHA-256 of one 1 is "another/],
  ["NewConnectionError: [Errno 101] Network is unreachable", /^the Python registry is "not reached".*PIP_INDEX_URL/],
  ["ReadTimeoutError: Read timed out.", /^the Python registry is "not reached"/],
  [
    "one\n\nERROR: No matching distribution found for one==1\n",
    /one 1 is "not installed".*pip said: ERROR: No matching distribution/,
  ],
])("what pip says becomes an error with the next step: %s", (stderr, expected) => {
  const cause = Object.assign(new Error("Command failed"), { stderr });
  expect(installationError(one, cause)).toMatchObject({ message: expect.stringMatching(expected), cause });
});

test.each([
  [linux, undefined],
  [{ ...linux, glibc: "2.28" }, undefined],
  [{ ...linux, glibc: "3.0" }, undefined],
  [{ ...linux, glibc: "2.27" }, /^system is "linux x64, glibc 2.27"; expected linux x64 with glibc 2\.28/],
  [{ ...linux, glibc: "1.40" }, /^system is "linux x64, glibc 1.40"/],
  [{ ...linux, glibc: undefined }, /^system is "linux x64, glibc not there"/],
  [{ ...linux, arch: "arm64" }, /^system is "linux arm64, glibc 2.39"/],
  [{ ...linux, platform: "darwin" }, /^system is "darwin x64"/],
] as const)("%o may have CUDA's libraries or not", (system, message) => {
  const check = () => requireCudaSystem(system, runtime);
  if (message === undefined) check();
  else expect(check).toThrow(message);
});

test("another runtime than the provider belongs to is refused with the one to install", () => {
  expect(() => requireCudaSystem(linux, { version: "1.31.0" })).toThrow(
    `onnxruntime-node is "1.31.0"; expected ${cudaRuntime}, the version of the CUDA provider that this package knows`,
  );
});

const wheel = (name: string, bytes: number, size: number) => ({
  ...{ ...one, name, bytes, platform: "any", folder: "lib", sha256: "" },
  libraries: { [`${name}.so`]: size, [`${name}.so.1`]: 2 * size },
});

test("what crosses the network is packed, what is kept is not, and the runtime's copy is kept too", () => {
  expect(installationBytes({ runtime, wheels: [wheel("a", 10, 3), wheel("b", 20, 5)] })).toEqual({
    download: 30,
    kept: 7 + 9 + 15,
  });
  const { download, kept } = installationBytes({ runtime });
  expect([gigabytes(download), gigabytes(kept)]).toEqual(["1.1 GB", "1.5 GB"]);
  expect(cudaWheels.map(({ libraries }) => Object.keys(libraries).length)).toEqual([1, 2, 1, 8, 2]);
});

test("libraries are there where each has its size, beside a runtime of its version", () => {
  const folder = mkdtempSync(join(home, "cuda-"));
  const wheels = [wheel("a", 10, 3)];
  expect(installedCuda(runtime, { folder, wheels })).toBeUndefined();
  writeFileSync(join(folder, "a.so"), "123");
  writeFileSync(join(folder, "a.so.1"), "12345");
  expect(holds(folder, wheels[0])).toBe(false);
  writeFileSync(join(folder, "a.so.1"), "123456");
  expect(holds(folder, wheels[0])).toBe(true);
  expect(installedCuda(runtime, { folder, wheels })).toBeUndefined(); // no copy of the runtime
  writeFileSync(join(folder, "libonnxruntime.so.1"), "another");
  expect(installedCuda(runtime, { folder, wheels })).toBe(folder);
  expect(installedCuda({ ...runtime, version: "1.31.0" }, { folder, wheels })).toBeUndefined();
  expect(cudaFolder({ XDG_CACHE_HOME: "/cache" })).toBe(`/cache/retrograde/cuda-${cudaRuntime}`);
});
