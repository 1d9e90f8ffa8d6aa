import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type InstallEvent, installCuda } from "./install.ts";
import { installedCuda } from "./installed.ts";
import { type CudaWheel, cudaRuntime } from "./packages.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retrograde-cuda-"));
  writeFileSync(join(home, "libonnxruntime.so.1"), "runtime");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

const packed = "a wheel";
const wheel = (name: string): CudaWheel => ({
  ...{ name, version: "1", platform: "any", bytes: packed.length, folder: "nvidia/lib" },
  sha256: createHash("sha256").update(packed).digest("hex"),
  libraries: { [`lib${name}.so`]: 3 },
});
const wheels = [wheel("one"), wheel("two")];
const installation = () => ({
  ...{ wheels, folder: join(home, "cuda"), runtime: { file: join(home, "libonnxruntime.so.1"), version: cudaRuntime } },
});

/** Stands in for pip, and for what unpacks a wheel. @param arrives what pip brings of a package, as a case of the shell */
function putPython(arrives = ""): () => number {
  const script = `#!/bin/sh
if [ "$2" = pip ]; then
  echo "$*" >> "${home}/calls"
  name=$(sed 's/==.*//' "$8/requirements.txt")
  case $name in ${arrives} *) printf '${packed}' > "$8/$name-1-any.whl" ;; esac
  exit
fi
shift 3
for member; do [ -e "$member" ] || printf 'lib' > "$1/$(basename "$member")"; done
`;
  for (const name of ["python3", "python"]) {
    writeFileSync(join(home, name), script);
    chmodSync(join(home, name), 0o755);
  }
  vi.stubEnv("PATH", `${home}${delimiter}${process.env.PATH}`);
  return () => readFileSync(join(home, "calls"), "utf8").trim().split("\n").length;
}

test("the libraries stand beside a copy of the runtime's, and are found whole alone", async () => {
  const downloads = putPython();
  const events: InstallEvent[] = [];
  const folder = await installCuda({ ...installation(), onEvent: (event) => events.push(event) });
  expect(readdirSync(folder).sort()).toEqual(["libone.so", "libonnxruntime.so.1", "libtwo.so"]);
  expect(events).toContainEqual({ type: "unpacked", wheel: "two" });
  const { runtime } = installation();
  expect(installedCuda(runtime, { folder, wheels })).toBe(folder);
  expect(installedCuda({ ...runtime, version: "1.31.0" }, { folder, wheels })).toBeUndefined();
  await installCuda(installation());
  expect(downloads()).toBe(2);
  truncateSync(join(folder, "libone.so"), 2);
  expect(installedCuda(runtime, { folder, wheels })).toBeUndefined();
});

test("what an interrupted installation unpacked is not fetched again; what failed leaves nothing that is used", async () => {
  const failing = putPython(`two) echo "OSError: [Errno 28] No space left on device" >&2; exit 1 ;;`);
  await expect(installCuda(installation())).rejects.toThrow(/two 1 is "not written: the disk is full"/);
  expect(existsSync(join(home, "cuda"))).toBe(false);
  expect(readdirSync(join(home, "cuda.incomplete"))).toEqual(["libone.so"]);
  expect(failing()).toBe(2);
  const downloads = putPython();
  await installCuda(installation());
  expect(downloads()).toBe(3);
});

test("a wheel of another hash is not unpacked, whatever pip thinks of it", async () => {
  putPython(`one) printf 'another' > "$8/one-1-any.whl" ;;`);
  await expect(installCuda(installation())).rejects.toThrow(/SHA-256 of .*one-1-any\.whl/);
  expect(readdirSync(join(home, "cuda.incomplete"))).toEqual([]);
});
