import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { compiledProgram } from "./compiled.ts";

/** Each public function has an `@example` in its docstring, which the compiler checks against the package as users import it. */

const root = join(import.meta.dirname, "..");
const exportsSchema = z.record(z.string(), z.union([z.object({ types: z.string() }), z.literal("./package.json")]));
const packageSchema = z.object({ name: z.string(), exports: exportsSchema });
const { name: packageName, exports: entries } = packageSchema.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));

/** Sources and compiled types by the name that users import: "retrograde-rl/engine" → entries/engine.ts, dist/entries/engine.d.ts. */
const entryFiles = Object.entries(entries).flatMap(([path, entry]) => {
  if (typeof entry === "string") return [];
  const { types } = entry;
  const file = join(root, types.replace("./dist/", "").replace(/\.d\.ts$/, ".ts"));
  return [{ specifier: join(packageName, path), types: join(root, types), file }];
});

interface Public {
  readonly name: string;
  readonly specifier: string;
  /** Undefined for a type. */
  readonly docstring: string | undefined;
  readonly where: string;
}

const publicNames = entryFiles.flatMap(({ specifier, file }): Public[] =>
  [...readFileSync(file, "utf8").matchAll(/export (type )?\{([^}]*)\} from "([^"]+)"/g)].flatMap(([, allTypes, list, from]) =>
    list
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "")
      .map((item) => {
        const source = join(dirname(file), from);
        const name = item.replace(/^type /, "");
        const where = `${relative(root, source)} ${name}`;
        const docstring = allTypes !== undefined || item.startsWith("type ") ? undefined : docstringOf(source, name);
        return { name, specifier, docstring, where };
      }),
  ),
);

/** Returns "" where there is none. Follows a name that is passed on. */
function docstringOf(file: string, name: string): string {
  const source = readFileSync(file, "utf8");
  const declaration = new RegExp(
    `((?:/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?)export (?:async |abstract )?(?:function\\*?|class|const) ${name}\\b`,
  ).exec(source);
  if (declaration !== null) return declaration[1];
  const passedOn = new RegExp(`export \\{[^}]*\\b${name}\\b[^}]*\\} from "([^"]+)"`).exec(source);
  if (passedOn === null) throw new Error(`${file} does not export ${name} in a way that this test reads.`);
  return docstringOf(join(dirname(file), passedOn[1]), name);
}

/** Errors are made by the package, and lists of names are data. */
const needsNone = (name: string) =>
  /Error$/.test(name) || ["capabilities", "capabilityMeanings", "rolloutAlgorithms", "updateMetrics"].includes(name);

const functions = publicNames.filter(({ docstring, name }) => docstring !== undefined && !needsNone(name));

const exampleOf = (docstring: string) =>
  /^ \* @example\n((?: \*(?! @|\/).*\n)*)/m.exec(docstring)?.[1].replace(/^ \* ?/gm, "") ?? "";

test("every public function has an example", () => {
  expect(functions.length).toBeGreaterThan(60);
  expect(functions.filter(({ docstring }) => exampleOf(docstring ?? "") === "").map(({ where }) => where)).toEqual([]);
});

/** Names that examples use without making them. */
const given = `
import type { Policy, Group } from "retrograde-rl/algorithms";
import type { ActionInContext, LocalEngine } from "retrograde-rl/engine";
import type { CheckOptions } from "retrograde-rl";
import type { TinkerModel } from "retrograde-rl/tinker";
declare global {
  const policy: Policy;
  const groups: readonly Group[];
  const samples: readonly ActionInContext[];
  const engine: LocalEngine;
  const model: TinkerModel;
  const rollout: CheckOptions["rollout"];
  const folder: string;
  function slowly(what: string): Promise<string>;
  function answer(question: string): Promise<string>;
  function evalite(name: string, options: object): void;
  const exact: never;
  const agent: never;
}
`;

test("the examples compile against the package", () => {
  mkdirSync(join(root, "node_modules/.cache"), { recursive: true });
  const folder = mkdtempSync(join(root, "node_modules/.cache/examples-"));
  try {
    const files = [...new Map(functions.map((found) => [found.where, found])).values()].map(({ name, docstring = "" }, i) => {
      const file = `${i}-${name}.ts`;
      writeFileSync(join(folder, file), withImports(exampleOf(docstring), name));
      return file;
    });
    writeFileSync(join(folder, "given.ts"), given);
    compiledProgram(); // and its types
    const paths = Object.fromEntries(entryFiles.map(({ specifier, types }) => [specifier, [types]]));
    const compilerOptions = { noEmit: true, noUnusedLocals: false, noUnusedParameters: false, incremental: false, paths };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: [], files: ["given.ts", ...files] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    expect(existsSync(compiler)).toBe(true);
    const { stdout, stderr } = spawnSync(process.execPath, [compiler, "-p", folder], { cwd: folder, encoding: "utf8" });
    expect(stdout + stderr).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Imports what an example uses, from the entry of its function if that has it. */
function withImports(example: string, name: string): string {
  const own = publicNames.find((found) => found.name === name)?.specifier;
  const used = [...new Set(publicNames.map((found) => found.name))].filter(
    (word) => new RegExp(`\\b${word}\\b`).test(example) && !new RegExp(`\\b(?:const|let) ${word}\\b`).test(example),
  );
  const imports = used.map((word) => {
    const homes = publicNames.filter((found) => found.name === word);
    const home = homes.find(({ specifier }) => specifier === own) ?? homes[0];
    return `import { ${home.docstring === undefined ? "type " : ""}${word} } from "${home.specifier}";`;
  });
  const zod = /\bz\./.test(example) ? ['import { z } from "zod";'] : [];
  return [...zod, ...imports, example, "export {};"].join("\n");
}
