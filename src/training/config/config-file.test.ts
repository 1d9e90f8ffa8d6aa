import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
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

test("path aliases of the tsconfig.json around a file lead to its modules", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-config-"));
  mkdirSync(join(folder, "src"));
  mkdirSync(join(folder, "training"));
  writeFileSync(join(folder, "tsconfig.json"), '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }');
  writeFileSync(join(folder, "src/sizes.ts"), "export const steps: number = 7;");
  writeFileSync(join(folder, "training/retrograde.config.ts"), 'import { steps } from "@/sizes";\nexport default { steps };');
  expect(await loadConfigFile(undefined, join(folder, "training"))).toEqual({ steps: 7 });
});

test("an alias that leads nowhere is not taken for a package to install", async () => {
  for (const name of ["@/sizes", "~/sizes", "#sizes", "bun:sqlite"])
    await expect(loadConfigFile(undefined, folderWith(`import "${name}";\nexport default {};`))).rejects.toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("npm install") }),
    );
});

test("a tsconfig.json that extends what is not installed keeps no file from loading", async () => {
  const folder = folderWith("export default { steps: 7 };");
  writeFileSync(join(folder, "tsconfig.json"), '{ "extends": "@tsconfig/none/tsconfig.json" }');
  expect(await loadConfigFile(undefined, folder)).toEqual({ steps: 7 });
});
