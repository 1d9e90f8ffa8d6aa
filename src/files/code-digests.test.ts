import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { codeDigests, sha256, sha256OfFile } from "./code-digests.ts";

/** A folder with these files. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-code-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
const names = (files: Readonly<Record<string, string>>, ...roots: readonly string[]) => {
  const folder = folderOf(files);
  return Object.keys(codeDigests(roots.map((root) => join(folder, root))));
};

test("a digest is SHA-256 in hexadecimal, of a text and of a file", async () => {
  const text = "export const a = 1;\n";
  const expected = createHash("sha256").update(text).digest("hex");
  const folder = folderOf({ "a.ts": text });
  expect([sha256(text), await sha256OfFile(join(folder, "a.ts"))]).toEqual([expected, expected]);
  expect(codeDigests([join(folder, "a.ts"), join(folder, "a.ts"), join(folder, "none.ts")])).toEqual({ "a.ts": expected });
  await expect(sha256OfFile(join(folder, "none.ts"))).rejects.toThrow("ENOENT");
});

test("what a file imports from beside it belongs to it, by every way of importing; packages do not", () => {
  const root = `import a from "./a.ts"; export { b } from './b'; const c = require( "./c" ); const d = await import("./d");
    import "../e.mjs"; import type { F } from "./f.js"; import "./g"; import "package"; import "/h.ts"; import "./none";
    import "./i.mjs"; import "./folder";`;
  const files = {
    ...{ "x/root.ts": root, "x/a.ts": 'import "./deep/a2.js";', "x/b.mts": "", "x/c.js": "", "x/d.tsx": "", "e.mjs": "" },
    ...{ "x/f.ts": "", "x/g/index.ts": "", "h.ts": "", "x/deep/a2.ts": 'import "../root.ts";', "x/i.mts": "", "x/other.ts": "" },
    ...{ "x/folder/index.js": "" },
  };
  expect(names(files, "x/root.ts").toSorted()).toEqual([
    ...["../e.mjs", "a.ts", "b.mts", "c.js", "d.tsx", "deep/a2.ts", "f.ts", "folder/index.js", "g/index.ts", "i.mts", "root.ts"],
  ]);
});

test("the file that is named goes before those that its name might mean", () => {
  const both = { "a.js": "", "a.ts": "", "a.mts": "", "b.mjs": "", "c.jsx": "" };
  expect(names({ ...both, "r.ts": 'import "./a.js"; import "./b"; import "./c";' }, "r.ts")).toEqual([
    ...["r.ts", "a.js", "b.mjs", "c.jsx"],
  ]);
  expect(names({ ...both, "r.ts": 'import "./a";' }, "r.ts")).toEqual(["r.ts", "a.ts"]);
});

test("each file that is given is one of its own, and folders are none", () => {
  const files = { "one/a.ts": 'import "../shared.ts";', "two/b.ts": 'import "../shared.ts"; import "../one";', "shared.ts": "" };
  expect(names(files, "one/a.ts", "two/b.ts", "one").toSorted()).toEqual(["../shared.ts", "a.ts", "b.ts"]);
});

test("this package's own sources are none of a program's, and a giant file is no code", () => {
  const own = join(import.meta.dirname, "../core/json.ts");
  const folder = folderOf({ "large.ts": " ".repeat(4 * 2 ** 20), "larger.ts": " ".repeat(4 * 2 ** 20 + 1) });
  const path = join(folder, "a.ts");
  writeFileSync(path, 'import "./large.ts"; import "./larger.ts";');
  expect(Object.keys(codeDigests([path]))).toEqual(["a.ts", "large.ts"]);
  // The entry is hashed, and what it imports of this package is not followed.
  const [entry, ...more] = Object.keys(codeDigests([join(import.meta.dirname, "code-digests.test.ts")]));
  expect([entry, more]).toEqual(["code-digests.test.ts", []]);
  expect(Object.keys(codeDigests([own]))).toEqual(["json.ts"]);
});

test("at most 500 files are followed", () => {
  const chain = Object.fromEntries(Array.from({ length: 510 }, (_, i) => [`m${i}.ts`, `import "./m${i + 1}.ts";`]));
  expect(names(chain, "m0.ts")).toHaveLength(500);
});
