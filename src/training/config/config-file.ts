import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createJiti, type Jiti, type JitiOptions } from "jiti";
import { z } from "zod";
import { ConfigError, RetrogradeError, reasonOf } from "../../core/errors.ts";
import { runtime } from "../../core/runtime.ts";
import { parseSettings } from "../../core/settings.ts";
import { requireFile } from "../../files/bounded.ts";
import type { UserConfig } from "./user-config.ts";

/** Looked for in the current folder, in this order. */
const configFileNames = [
  "retrograde.config.ts",
  "retrograde.config.mts",
  "retrograde.config.js",
  "retrograde.config.mjs",
] as const;

/**
 * Returns what `retrograde.config.ts` exports as its default; an empty configuration where there is no such file. It is not checked
 * yet: `resolveConfig` does that.
 * @param path a file to load instead
 * @throws ConfigError where the file is missing, does not load, or exports no configuration
 */
export async function loadConfigFile(path?: string, folder = process.cwd()): Promise<UserConfig> {
  const candidates = path === undefined ? configFileNames : [path];
  const file = candidates.map((name) => resolve(folder, name)).find((name) => existsSync(name));
  if (file === undefined && path === undefined) return {};
  if (file === undefined) throw new ConfigError("--config", path, { expected: "a file that exports a configuration" });
  const exported = await loadModule(file);
  if (typeof exported !== "object" || exported === null || Array.isArray(exported))
    throw new ConfigError(file, exported, {
      expected: "a default export that is a configuration",
      hint: "Write `export default defineConfig({ … })`.",
    });
  const { environment, rewards = [] } = exported as UserConfig;
  for (const part of [environment, ...(Array.isArray(rewards) ? rewards : [])]) rememberFiles(part, [file]);
  return exported;
}

/** The files of values that modules gave: what decides a run is in its record. */
const origins = new WeakMap<object, readonly string[]>();

/** Keeps the files that a value is made of. */
export function rememberFiles(value: unknown, files: readonly string[]): void {
  if ((typeof value === "object" || typeof value === "function") && value !== null && files.length > 0) origins.set(value, files);
}

/** Returns the files that a value is made of, as far as they are known. */
export function filesOf(value: unknown): readonly string[] {
  return (typeof value === "object" || typeof value === "function") && value !== null ? (origins.get(value) ?? []) : [];
}

const notesSchema = z.object({
  sources: z.record(z.string(), z.string()).default({}),
  notes: z.array(z.string()).default([]),
});

/**
 * Returns what a configuration file says about itself in exports beside its default: `sources`, where each setting's value is from,
 * by its path; and `notes`, what the settings cannot say.
 * @throws ConfigError where these have another form
 */
export async function loadConfigNotes(path?: string, folder = process.cwd()): Promise<z.output<typeof notesSchema>> {
  const candidates = path === undefined ? configFileNames : [path];
  const file = candidates.map((name) => resolve(folder, name)).find((name) => existsSync(name));
  return parseSettings(notesSchema, file === undefined ? {} : { ...((await loadModule(file, false)) as object) });
}

/** This package: a configuration finds it also where it is not installed, as with npx. */
const self = fileURLToPath(new URL(`../../../entries/index${extname(fileURLToPath(import.meta.url))}`, import.meta.url));

/** This package's zod, for a file without one of its own, as with npx. */
const zod = createRequire(import.meta.url).resolve("zod");

const largestModule = 64 * 2 ** 20;

/**
 * Loads a module of the user's, in TypeScript or not, with the path aliases of the tsconfig.json around it. Bun and Deno load it by themselves, if
 * they can: only they know their own modules.
 * @throws ConfigError where it does not load
 */
export async function loadModule(file: string, defaultExport = true): Promise<unknown> {
  const isNode = runtime().name === "node";
  if (!existsSync(file)) throw new ConfigError(file, "no file", { expected: "a module that exists" });
  try {
    requireFile(file, largestModule); // a pipe would be read for ever
    const virtualModules = isNode ? await ownEntries(file) : undefined;
    const load = (alias: Record<string, string>) =>
      loaderFor(file, { tryNative: !isNode, virtualModules, alias: { "retrograde-rl": self, ...alias } }).import(
        file,
        defaultExport ? { default: true } : {},
      );
    const loaded = await load({}).catch((cause: unknown) => {
      if (missingPackage(cause) !== "zod") throw cause;
      return load({ zod });
    });
    rememberFiles(loaded, [file]);
    return loaded;
  } catch (cause) {
    if (cause instanceof RetrogradeError) throw cause; // of one of our functions that the module calls: it says what is wrong
    const name = missingPackage(cause);
    if (name === undefined) throw new ConfigError(file, cause, { expected: "a module that loads", cause });
    const hint = `Where ${basename(file)} is: npm install ${name}`;
    throw new ConfigError(`the package "${name}" of ${file}`, "not installed", { expected: "it beside the file", hint, cause });
  }
}

/**
 * This package's entries that a file imports, and the main one for what it imports in turn: as they run, and not a second time through the loader. A
 * copy has errors and state of its own, and its modules are not all there while another import of them waits.
 */
async function ownEntries(file: string): Promise<Record<string, unknown>> {
  const text = readFileSync(file, "utf8");
  const named = text.matchAll(/["']retrograde-rl\/(algorithms|engine|evals|lab)["']/g);
  const entry = (name: string) => import(pathToFileURL(join(dirname(self), `${name}${extname(self)}`)).href) as Promise<unknown>;
  // Sources that are not compiled take seconds to load: only for a file that names them.
  const main = extname(self) === ".js" || text.includes("retrograde-rl") ? ["index"] : [];
  const modules = await Promise.all(
    [...main, ...new Set([...named].map(([, name = ""]) => name))].map(
      async (name) => [name === "index" ? "retrograde-rl" : `retrograde-rl/${name}`, await entry(name)] as const,
    ),
  );
  return Object.fromEntries(modules);
}

/** A tsconfig.json may extend what is not installed. Then it has no aliases to follow, and a file that needs none loads. */
function loaderFor(file: string, options: JitiOptions): Jiti {
  try {
    return createJiti(file, { ...options, tsconfigPaths: true });
  } catch {
    return createJiti(file, options);
  }
}

/** The package that a module asked for and did not find. Aliases such as `@/tools` and a runtime's modules such as `bun:sqlite` do not count. */
function missingPackage(cause: unknown): string | undefined {
  return /^Cannot find (?:module|package) '((?:@[^/']+\/)?[\w-][^/:']*)['/]/.exec(reasonOf(cause))?.[1];
}
