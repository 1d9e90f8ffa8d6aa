import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { packageFolder, packageFolderOf } from "./package-folder.ts";

test("code that a bundler has put into another package's file names the way out", () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-bundled-"));
  writeFileSync(join(folder, "package.json"), '{"name":"somebodys-app"}');
  const bundle = pathToFileURL(join(folder, "server.js")).href;
  expect(() => packageFolderOf(bundle)).toThrow(/server\.js"; expected the package's own folder.*serverExternalPackages/s);
  expect(() => packageFolderOf(undefined)).toThrow(/CommonJS.*--packages=external/s);
  expect(packageFolderOf(import.meta.url)).toBe(packageFolder);
  rmSync(folder, { recursive: true });
});
