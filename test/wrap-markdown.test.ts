import fc from "fast-check";
import { expect, test } from "vitest";
import { wrapMarkdown } from "../scripts/wrap-markdown.ts";

test("paragraphs and list items are filled; tables, code, headings and pictures stay as they are", () => {
  const page = `# A heading that is longer than the width

one two three
four five six seven

- one two three four \`a b c d e\`, six
- seven
  eight nine ten eleven twelve
12. one two three four five six

| a table | that is wider than anything |
|---|---|
![a picture](with/a/long/address.png)

    indented code that is longer than the width

\`\`\`sh
fenced code that is longer than the width
\`\`\`
after it
`;
  expect(wrapMarkdown(page, 24)).toBe(`# A heading that is longer than the width

one two three four five
six seven

- one two three four
  \`a b c d e\`, six
- seven eight nine ten
  eleven twelve
12. one two three four
    five six

| a table | that is wider than anything |
|---|---|
![a picture](with/a/long/address.png)

    indented code that is longer than the width

\`\`\`sh
fenced code that is longer than the width
\`\`\`
after it
`);
});

test("no line begins with a word that would begin another block", () => {
  expect(wrapMarkdown("a value of 10 - 7 is 3. # | > 1) + * = and more", 12)).toBe(
    "a value of\n10 - 7 is 3. # | > 1) + * =\nand more",
  );
});

test("wrapping again changes nothing, and neither loses nor adds a word", () => {
  const word = fc.constantFrom(
    "a",
    "word",
    "`code with spaces`",
    "[link](page.md)",
    "-",
    "1.",
    "#",
    "longer-than-all-of-the-others",
    "`",
  );
  fc.assert(
    fc.property(fc.array(fc.array(word, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 4 }), (paragraphs) => {
      const page = paragraphs.map((words) => `x ${words.join(" ")}`).join("\n\n");
      const once = wrapMarkdown(page, 30);
      expect(wrapMarkdown(once, 30)).toBe(once);
      expect(once.split(/\s+/)).toEqual(page.split(/\s+/));
      expect(once.split("\n\n")).toHaveLength(paragraphs.length);
    }),
  );
});
