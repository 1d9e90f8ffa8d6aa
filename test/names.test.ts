import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const { name, bin } = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as { name: string; bin: Record<string, string> };

/** All that is shipped or printed, as text. */
const places = [
  "docs",
  "src",
  "extensions",
  "entries",
  "skills",
  "templates",
  "examples",
  "research/recipes",
  "scripts",
  "dashboard/src",
];
const files = [
  ...places.flatMap((place) =>
    readdirSync(`${root}/${place}`, { recursive: true, encoding: "utf8" }).map((file) => `${place}/${file}`),
  ),
  ...readdirSync(root).filter((file) => file.endsWith(".md")),
].filter((file) => /\.(md|ts|tsx|mjs|json|py)$/.test(file) && statSync(`${root}/${file}`).isFile());

test("`npx` finds the program under the package's own name", () => {
  expect(bin[name]).toBe("dist/entries/main.js");
  expect(Object.keys(bin)).toEqual([name]);
});

test("no page and no message names a command that would run another package", () => {
  const commands =
    "train|train-agent|init|demo|record|sft|eval|import|chat|runs|dashboard|trajectory|control|serve|export|push|study|data|doctor";
  const foreign = new RegExp(
    `\\b(npx|bunx|dlx|exec|yarn)( --bun)? retrograde(?![-\\w.])|(?<![\\w/.@-])retrograde (${commands})(?![\\w-])`,
  );
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) => {
    const line = readFileSync(`${root}/${file}`, "utf8")
      .split("\n")
      .find((each) => foreign.test(each));
    return line === undefined ? [] : [`${file}: ${line.trim().slice(0, 100)}`];
  });
  expect(found).toEqual([]);
  expect(existsSync(`${root}/SECURITY.md`)).toBe(true);
});
