import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve, sep } from "node:path";
import { packageFolder } from "./package-folder.ts";

/** Limits on the number and bytes of a program's files that are hashed: beyond them it is not hand-written code. */
const most = { files: 500, bytes: 4 * 2 ** 20 };
const endings = ["", ".ts", ".mts", ".js", ".mjs", ".tsx", ".jsx", "/index.ts", "/index.js"];

/**
 * Returns SHA-256 of files of code and of all that they import from beside them, by their paths relative to the file that they belong to.
 * Packages are not followed, this one neither where its sources are beside them: its version says what they are.
 */
export function codeDigests(files: readonly string[]): Record<string, string> {
  const digests: Record<string, string> = {};
  for (const root of new Set(files.map((file) => resolve(file)))) {
    const seen = new Set([root]);
    for (const file of seen) {
      const text = textOf(file);
      if (text === undefined) continue;
      digests[relative(dirname(root), file) || basename(file)] = sha256(text);
      for (const name of imported(text)) {
        const path = fileOf(join(dirname(file), name));
        if (path !== undefined && !isOfThisPackage(path) && seen.size < most.files) seen.add(path);
      }
    }
  }
  return digests;
}

function isOfThisPackage(file: string): boolean {
  return ["src", "extensions", "entries", "dist"].some((ring) => file.startsWith(join(packageFolder, ring, sep)));
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** SHA-256 of a file of any size. @throws the system's errors */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

function textOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const stats = statSync(file);
  return stats.isFile() && stats.size <= most.bytes ? readFileSync(file, "utf8") : undefined;
}

/** Paths that a module names from its own folder on, by `import`, `export … from` or `require`. */
function imported(text: string): string[] {
  return [...text.matchAll(/(?:from|import|require)\s*\(?\s*["'](\.{1,2}\/[^"'\n]+)["']/g)].flatMap(([, name]) => name ?? []);
}

/** TypeScript's imports may name the compiled file. */
function fileOf(path: string): string | undefined {
  const written = [".js", ".mjs"].includes(extname(path)) ? [path.replace(/\.(m?)js$/, ".$1ts")] : [];
  return [...endings.map((ending) => path + ending), ...written].find((each) => existsSync(each) && statSync(each).isFile());
}
