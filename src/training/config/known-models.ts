import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder } from "../../files/package-folder.ts";
import { layout } from "../../runs/layout.ts";
import { readRun } from "../../runs/read.ts";

/** Models of which it is known where they were trained: those of the package, and those of runs. */

export const defaultModels = pathToFileURL(join(packageFolder, "models/"));

/** Names of the environments with a bundled model, which has learned their texts and tools. */
export function bundledModels(): string[] {
  return readdirSync(defaultModels).filter((name) => existsSync(new URL(`${name}/config.json`, defaultModels)));
}

export const bundledPrefix = "bundled:";

/** True for the name of a model that is part of the package. */
export function isBundled(model: string): boolean {
  return model === "default" || model.startsWith(bundledPrefix);
}

export function hasBundledModel(environment: string): boolean {
  return bundledModels().includes(environment);
}

/** The run whose folder, or whose `model` folder, a model is; undefined for others. */
export function runOfModel(model: string): string | undefined {
  return [model, dirname(resolve(model))].find(
    (folder, i) => existsSync(layout.run(folder)) && (i === 0 || basename(model) === "model"),
  );
}

/** True if a model was trained in an environment, or is bundled with it: it knows the environment's tools without being shown them. */
export function trainedIn(model: string, environment: string): boolean {
  if (model === "default" || model === bundledPrefix + environment) return true;
  const run = runOfModel(model);
  return run !== undefined && recordedEnvironment(run).name === environment;
}

/** The environment of a run, by its record: for comparing names. Its settings may act (sdk/trust.ts). */
export function recordedEnvironment(run: string): { readonly name: string; readonly settings: unknown } {
  const { environment } = readRun(run).config as { environment?: { name?: unknown; settings?: unknown } };
  return { name: String(environment?.name), settings: environment?.settings ?? {} };
}
