import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const couldInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");

/** The step before the tests, on a machine without a browser whose apt-get writes down that it was called. */
function prepare(env: NodeJS.ProcessEnv) {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-browser-"));
  const [called, program] = [join(folder, "called"), join(import.meta.dirname, "../scripts/browser.mjs")];
  writeFileSync(join(folder, "apt-get"), `#!/bin/sh\n: > ${called}\n`, { mode: 0o755 });
  const { stdout } = spawnSync(process.execPath, [program], { env: { PATH: folder, ...env }, encoding: "utf8" });
  return { stdout, installed: existsSync(called) };
}

test.skipIf(!couldInstall)("the tests install a browser by apt only where somebody agrees, or in CI", () => {
  expect(prepare({})).toEqual({ installed: false, stdout: expect.stringContaining("the tests in a browser are skipped") });
  expect(prepare({ CI: "true" })).toEqual({ installed: true, stdout: expect.stringContaining("Installing Debian's Chromium") });
  expect(prepare({ CI: "true", CHROMIUM: "none" })).toEqual({ installed: false, stdout: "" });
});
