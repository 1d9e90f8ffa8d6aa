import { expect, test } from "vitest";
import { lakeOf, shortestWay } from "./frozen-lake.ts";

const drawn = (...rows: string[]) =>
  `Available actions: up\n\nCurrent Board:\n\n+---+\n${rows.map((row) => `|${[...row].map((cell) => `  ${cell}  `).join("|")}|`).join("\n+---+\n")}\n+---+`;

test("a board is read from the drawing", () => {
  expect(lakeOf(drawn("P H", "  G"))).toEqual([
    ["P", "", "H"],
    ["", "", "G"],
  ]);
});

test.each([
  { rows: ["P  ", "   ", "  G"], way: ["right", "right", "down", "down"] },
  { rows: ["P H", " H ", "  G"], way: ["down", "down", "right", "right"] },
  { rows: ["G  ", "HH ", "P  "], way: ["right", "right", "up", "up", "left", "left"] },
  { rows: ["GP"], way: ["left"] },
])("the way over $rows", ({ rows, way }) => {
  expect(shortestWay(lakeOf(drawn(...rows)))).toEqual(way);
});

test("a lake without a way is refused", () => {
  expect(() => shortestWay(lakeOf(drawn("PH", "HG")))).toThrow("no way over P H / H G");
});
