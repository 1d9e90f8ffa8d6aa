/** `npx jiti scripts/wrap-pages.ts` fills the lines of every page to one width; `test/english.test.ts` requires that they are. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wrapMarkdown } from "./wrap-markdown.ts";

const root = join(import.meta.dirname, "..");

/** Every page: those at the root, and those below `docs` and `test`. */
export function pages(): string[] {
  const below = (folder: string) => readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return [...readdirSync(root), ...["docs", "test"].flatMap((folder) => below(folder).map((name) => join(folder, name)))]
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(root, name));
}

if (process.argv[1]?.endsWith("wrap-pages.ts"))
  for (const page of pages()) {
    const text = readFileSync(page, "utf8");
    const wrapped = wrapMarkdown(text);
    if (wrapped !== text) writeFileSync(page, wrapped);
  }
