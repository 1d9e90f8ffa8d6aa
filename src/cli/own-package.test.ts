import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageVersion } from "../runs/write.ts";
import { packageSource } from "./own-package.ts";

/** A new project in a folder whose package.json is the given one. */
function within(manifest: unknown, ...between: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), "retrograde-source-"));
  writeFileSync(join(root, "package.json"), typeof manifest === "string" ? manifest : JSON.stringify(manifest));
  mkdirSync(join(root, ...between), { recursive: true });
  return packageSource(join(root, ...between, "my-task"));
}

test.each([
  ["npm and pnpm", "file:../r.tgz", "file:../../r.tgz"],
  ["yarn", "../r.tgz", "file:../../r.tgz"],
  ["yarn, of its own folder", "r.tgz", "file:../r.tgz"],
  ["a linked clone", "link:../clone", "file:../../clone"],
  ["the registry", "^0.1.0", "^0.1.0"],
  ["an address", "https://example.org/r.tgz", "https://example.org/r.tgz"],
])("a task beside an installation by %s is of the same package", (_, spec, expected) => {
  expect(within({ dependencies: { "retrograde-rl": spec } })).toBe(expected);
  expect(within({ devDependencies: { "retrograde-rl": spec } })).toBe(expected);
});

test("a task in a clone is of that clone, and one deeper down too", () => {
  expect(within({ name: "retrograde-rl" })).toBe("file:..");
  expect(within({ name: "retrograde-rl" }, "tasks")).toBe("file:../..");
});

test("elsewhere it is the version on the registry, also where the package.json around it is broken", () => {
  for (const manifest of [{ name: "other" }, "{", "[]", { dependencies: 3 }])
    expect(within(manifest)).toBe(`^${packageVersion()}`);
});
