import { expect, test } from "vitest";
import { runtime } from "./runtime.ts";

test.each([
  [{ node: "20.20.2" }, { name: "node", version: "v20.20.2" }],
  [
    { node: "26.3.0", bun: "1.4.5" },
    { name: "bun", version: "Bun 1.4.5" },
  ],
  [
    { node: "26.3.0", deno: "2.9.6" },
    { name: "deno", version: "Deno 2.9.6" },
  ],
])("the versions %j are those of %j", (versions, expected) => {
  expect(runtime(versions as unknown as NodeJS.ProcessVersions)).toEqual(expected);
});
