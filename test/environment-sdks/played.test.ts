import { test } from "vitest";
import { pageTable } from "../page-table.ts";
import { table } from "./played.ts";

test("the table of research/notes/remote.md is what was played", () => {
  pageTable("research/notes/remote.md", "What was played: written by test/environment-sdks/played.test.ts", table(), [3]);
});
