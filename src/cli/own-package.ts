import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { packageVersion } from "../runs/write.ts";

const packageName = "retrograde-rl";

const manifestSchema = z.object({
  name: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
  devDependencies: z.record(z.string(), z.string()).optional(),
});

/**
 * Returns how a new project's package.json names this package, so that it installs what this program is: the clone or the tarball of the projects
 * around it, else the version on the registry.
 * @param folder the new project
 * @example
 * packageSource("my-task"); // "file:../../retrograde-rl-0.1.0.tgz"
 */
export function packageSource(folder: string): string {
  const project = resolve(folder);
  for (let around = dirname(project); ; around = dirname(around)) {
    const spec = specIn(around);
    if (spec !== undefined) return movedSpec(spec, around, project);
    if (around === dirname(around)) return `^${packageVersion()}`;
  }
}

function specIn(folder: string): string | undefined {
  const path = join(folder, "package.json");
  if (!existsSync(path)) return undefined;
  try {
    const { name, dependencies, devDependencies } = manifestSchema.parse(JSON.parse(readFileSync(path, "utf8")));
    return name === packageName ? "file:." : (dependencies?.[packageName] ?? devDependencies?.[packageName]);
  } catch {
    return undefined; // someone else's file: its content and its faults do not matter here
  }
}

/** A path in a dependency counts from its own package.json. Yarn writes it without `file:`. */
function movedSpec(spec: string, from: string, to: string): string {
  const path = /^(?:file:|link:|portal:)(.*)$/.exec(spec)?.[1] ?? (/^[./~]|\.tgz$/.test(spec) ? spec : undefined);
  if (path === undefined || /^[a-z]+:\/\//.test(path)) return spec;
  return `file:${relative(to, resolve(from, path)).split(sep).join("/")}`;
}
