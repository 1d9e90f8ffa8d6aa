import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { table } from "./played.ts";

const page = fileURLToPath(new URL("../../docs/environments/remote.md", import.meta.url));
const [from, to] = ["<!-- What was played: written by test/environment-sdks/played.test.ts -->", "<!-- Until here -->"];

test("the table of docs/environments/remote.md is what was played", () => {
  const text = readFileSync(page, "utf8");
  const [start, end] = [text.indexOf(from) + from.length, text.indexOf(to)];
  expect(start).toBeLessThan(end);
  const written = `${text.slice(0, start)}\n\n${table()}\n\n${text.slice(end)}`;
  if (process.env.RETROGRADE_PLAY === "all") writeFileSync(page, written);
  expect(readFileSync(page, "utf8")).toBe(written);
});
