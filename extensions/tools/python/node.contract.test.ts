import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findNode } from "./node.ts";

const bun = { name: "bun", version: "Bun 1.4.5" } as const;

function folderWithNode(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-node-"));
  writeFileSync(join(folder, "node"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

test("Python runs in this process's Node, in Bun in the one that the PATH leads to", async () => {
  expect(await findNode({ name: "node", version: "v20.20.2" }, { PATH: "" })).toBe(process.execPath);
  // As version managers have it: a script that calls Node.
  expect(await findNode(bun, { PATH: folderWithNode(`exec ${process.execPath} "$@"`) })).toBe(process.execPath);
});

test("without Node, or where Bun calls itself so, Python is refused with what to do", async () => {
  const next =
    /"without Node"; expected Node 20\.19 or later on the PATH: .* those of Bun 1\.4\.5 cannot\. Install Node beside Bun 1\.4\.5\./;
  await expect(findNode(bun, { PATH: mkdtempSync(join(tmpdir(), "retrograde-node-")) })).rejects.toThrow(next);
  await expect(findNode(bun, { PATH: folderWithNode("echo") })).rejects.toThrow(next);
});
