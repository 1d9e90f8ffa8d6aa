import { expect, test } from "vitest";
import { commandPrefix, quoted } from "./invocation.ts";

test.each([
  [{ npm_lifecycle_event: "start" }, "npm run -s retrograde --"],
  [{ npm_lifecycle_event: "retrograde" }, "npm run -s retrograde --"],
  [{ npm_command: "exec", npm_lifecycle_event: "npx" }, "npx retrograde-rl"],
  [{}, "retrograde"],
])("called with %j, commands to copy begin with %s", (env, prefix) => {
  expect(commandPrefix(env)).toBe(prefix);
});

test("a path is quoted where a shell would cut it", () => {
  expect(quoted("runs/office-1")).toBe("runs/office-1");
  expect(quoted("my runs/a")).toBe("'my runs/a'");
  expect(quoted("it's")).toBe("'it'\\''s'");
  expect(quoted("a;rm")).toBe("'a;rm'");
});
