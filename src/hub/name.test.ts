import { expect, test } from "vitest";
import { formatHubName, parseHubName } from "./name.ts";

test.each([
  ["Qwen/Qwen2.5-0.5B-Instruct", { repo: "Qwen/Qwen2.5-0.5B-Instruct", revision: undefined }],
  ["a_b/c.d@v1.0", { repo: "a_b/c.d", revision: "v1.0" }],
  ["a/b@refs/pr/7", { repo: "a/b", revision: "refs/pr/7" }],
  [`${"a".repeat(96)}/b@${"x".repeat(200)}`, { repo: `${"a".repeat(96)}/b`, revision: "x".repeat(200) }],
])("%s is a name on the Hub", (text, name) => {
  expect(parseHubName(text)).toEqual(name);
  expect(formatHubName(name)).toBe(text);
});

test.each([
  ...["model", "./a/b", "../a", "a/b/c", "/a/b", "a/", "/b", "a/b@", "a/b@../x", "a/b@/x", "a/b@x/", "a/b@x@y", "a/b c", ""],
  ...["a/b@$main", "a/b@main$", "a/b@.x", "a/b@-x", "a/b@x//y", "a/b@x..y", `a/b@${"x".repeat(201)}`],
  ...["a--b/c", "a/b..c", "-a/b", "a/b.", "a/b.git", "a\\b/c", `a/${"b".repeat(97)}`, "https://huggingface.co/a/b"],
])("%j is none", (text) => {
  expect(parseHubName(text)).toBeUndefined();
});
