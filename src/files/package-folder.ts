import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../core/errors.ts";

/**
 * The folder of this package, with its models, pages and threads. Its compiled modules are one level deeper than its sources, so it is looked for.
 * @throws ConfigError where a bundler has put the code into another package's file: none of these files are there
 */
export function packageFolderOf(module: string | undefined): string {
  const file = module === undefined ? "a bundle of CommonJS" : fileURLToPath(module);
  const found = module === undefined ? undefined : folderAround(dirname(file));
  if (found !== undefined) return found;
  throw new ConfigError("the code of retrograde-rl", file, {
    expected: "the package's own folder: it was bundled, without its models, threads and native modules",
    hint: 'Leave it out of the bundle: esbuild --packages=external, Next.js `serverExternalPackages: ["retrograde-rl"]`, Vite `ssr: { external: ["retrograde-rl"] }`.',
  });
}

function folderAround(folder: string): string | undefined {
  const file = join(folder, "package.json");
  if (existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: unknown }).name === "retrograde-rl") return folder;
  return folder === dirname(folder) ? undefined : folderAround(dirname(folder));
}

export const packageFolder = packageFolderOf(import.meta.url);
