import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { filesOf, loadConfigFile, loadConfigNotes, loadModule, rememberFiles } from "./config-file.ts";

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

test("a file has this package's zod where it has none, and knows what it is made of", async () => {
  const folder = folderWith(
    'import { z } from "zod";\nexport default { steps: z.int().parse(4), rewards: [{ name: "a" }], environment: { name: "e" } };',
  );
  const file = join(folder, "retrograde.config.ts");
  const config = (await loadConfigFile(undefined, folder)) as { readonly rewards: object[]; readonly environment: object };
  expect(config).toMatchObject({ steps: 4 });
  expect([filesOf(config.environment), filesOf(config.rewards[0]), filesOf({}), filesOf(null), filesOf("a")]).toEqual([
    ...[[file], [file], [], [], []],
  ]);
  const own = () => {};
  rememberFiles(own, ["a.ts"]);
  rememberFiles(own, []); // says nothing
  for (const nothing of [null, undefined, "text", 5]) expect(() => rememberFiles(nothing, ["a.ts"])).not.toThrow();
  expect(filesOf(own)).toEqual(["a.ts"]);
  expect(await loadConfigFile("retrograde.config.ts", folder)).toMatchObject({ steps: 4 });
});

test("a package that is not there is named with what installs it; an error of ours stays itself", async () => {
  const folder = folderWith('import { x } from "@some/none";\nexport default x;');
  await expect(loadConfigFile(undefined, folder)).rejects.toThrow(
    new ConfigError(`the package "@some/none" of ${join(folder, "retrograde.config.ts")}`, "not installed", {
      expected: "it beside the file",
      hint: "Where retrograde.config.ts is: npm install @some/none",
    }),
  );
  const plain = folderWith('import "some-none-package/part";\nexport default {};');
  await expect(loadConfigFile(undefined, plain)).rejects.toThrow("npm install some-none-package");
  const throwing = folderWith("throw new Error('it broke');");
  await expect(loadConfigFile(undefined, throwing)).rejects.toThrow(
    `${join(throwing, "retrograde.config.ts")} is it broke; expected a module that loads.`,
  );
  await expect(loadModule(join(folder, "none.ts"))).rejects.toThrow(
    `${join(folder, "none.ts")} is "no file"; expected a module that exists.`,
  );
  for (const wrong of ["[1]", '"text"'])
    await expect(loadConfigFile(undefined, folderWith(`export default ${wrong};`))).rejects.toThrow(
      "expected a default export that is a configuration. Write `export default defineConfig({ … })`.",
    );
});

test("the first of the names that there are is taken, and what a file says about itself is read beside its default", async () => {
  const folder = folderWith(
    'export const sources = { steps: "page 3" };\nexport const notes = ["n"];\nexport default { steps: 1 };',
  );
  writeFileSync(join(folder, "retrograde.config.mjs"), "export default { steps: 2 };");
  expect(await loadConfigFile(undefined, folder)).toEqual({ steps: 1 });
  expect(await loadConfigNotes(undefined, folder)).toEqual({ sources: { steps: "page 3" }, notes: ["n"] });
  expect(await loadConfigNotes("retrograde.config.mjs", folder)).toEqual({ sources: {}, notes: [] });
  expect(await loadConfigNotes(undefined, mkdtempSync(join(tmpdir(), "retrograde-config-")))).toEqual({ sources: {}, notes: [] });
  const odd = folderWith("export const notes = 5;\nexport default {};");
  await expect(loadConfigNotes(undefined, odd)).rejects.toThrow("notes is 5; expected an array.");
  const [mts, js] = ["mts", "js"].map((extension) => {
    const other = mkdtempSync(join(tmpdir(), "retrograde-config-"));
    writeFileSync(join(other, `retrograde.config.${extension}`), `export default { steps: "${extension}" };`);
    return other;
  });
  expect([await loadConfigFile(undefined, mts), await loadConfigFile(undefined, js)]).toEqual([
    { steps: "mts" },
    { steps: "js" },
  ]);
});
