import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { loadConfigFile } from "./config-file.ts";

function folderWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-config-"));
  writeFileSync(join(folder, "retrograde.config.ts"), text);
  return folder;
}

test("a TypeScript file is found in the folder and loaded", async () => {
  const folder = folderWith("const steps: number = 4;\nexport default { steps } as const;\n");
  expect(await loadConfigFile(undefined, folder)).toEqual({ steps: 4 });
});

test("without a file the configuration is empty, but a file that was asked for must be there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-config-"));
  expect(await loadConfigFile(undefined, folder)).toEqual({});
  await expect(loadConfigFile("other.ts", folder)).rejects.toThrow(
    '--config is "other.ts"; expected a file that exports a configuration.',
  );
});

test("a file that does not load, or exports something else, is refused with what to write", async () => {
  await expect(loadConfigFile(undefined, folderWith("export default {"))).rejects.toThrow(ConfigError);
  await expect(loadConfigFile(undefined, folderWith("export default 5;"))).rejects.toThrow("export default defineConfig(");
});
