import { expect, test } from "vitest";
import { passageAround } from "./deep-search.ts";

test("a passage is the text around the sentence that shares most words with the snippet", () => {
  const text = `${"a b c. ".repeat(50)}Owls live in the old mill. ${"d e f. ".repeat(50)}`;
  const passage = passageAround(text, "owls in the mill", 20);
  expect(passage).toContain("Owls live in the old mill.");
  expect(passage.length).toBeLessThan(80);
  expect(passageAround(text, "nothing of it", 20)).toBe(text.slice(0, 40));
});
