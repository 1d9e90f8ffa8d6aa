import { expect, test } from "vitest";
import { commandPrefix } from "./invocation.ts";

test.each([
  [{ npm_lifecycle_event: "start" }, "npm run -s retrograde --"],
  [{ npm_lifecycle_event: "retrograde" }, "npm run -s retrograde --"],
  [{ npm_command: "exec", npm_lifecycle_event: "npx" }, "npx retrograde-rl"],
  [{}, "retrograde"],
])("called with %j, commands to copy begin with %s", (env, prefix) => {
  expect(commandPrefix(env)).toBe(prefix);
});
