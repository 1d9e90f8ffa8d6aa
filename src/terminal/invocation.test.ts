import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { commandPrefix, quoted, shownPath } from "./invocation.ts";

test.each([
  [{ npm_lifecycle_event: "start" }, "npm run -s retrograde --"],
  [{ npm_lifecycle_event: "retrograde" }, "npm run -s retrograde --"],
  [{ npm_command: "exec", npm_lifecycle_event: "npx" }, "npx retrograde-rl"],
  [{}, "npx retrograde-rl"],
])("called with %j, commands to copy begin with %s", (env, prefix) => {
  expect(commandPrefix(env, tmpdir())).toBe(prefix);
});

test("a program that is installed in a folder around this one is called by npx", () => {
  const project = mkdtempSync(join(tmpdir(), "retrograde-installed-"));
  mkdirSync(join(project, "my-task"));
  mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
  writeFileSync(join(project, "node_modules/.bin/retrograde-rl"), "");
  for (const folder of [project, join(project, "my-task")])
    expect(commandPrefix({ npm_command: "exec" }, folder)).toBe("npx retrograde-rl");
});

test.each([
  ["npm/11.19.1 node/v20.20.2 linux x64 workspaces/false", "node", "npx retrograde-rl"],
  ["bun/1.4.5 npm/? node/v26.3.0 linux x64", "node", "bunx retrograde-rl"],
  ["pnpm/12.21.0 npm/? node/v20.20.2 linux x64", "node", "pnpm exec retrograde-rl"],
  ["yarn/4.18.1 npm/? node/v20.20.2 linux x64", "node", "yarn retrograde-rl"],
  ["bun/1.4.5 npm/? node/v26.3.0 linux x64", "bun", "bunx --bun retrograde-rl"],
  [undefined, "bun", "bunx --bun retrograde-rl"],
  [undefined, "deno", "deno run -A npm:retrograde-rl"],
  [undefined, "node", "npx retrograde-rl"],
] as const)("called by %s in %s, commands to copy begin with %s", (npm_config_user_agent, name, prefix) => {
  const project = mkdtempSync(join(tmpdir(), "retrograde-installed-"));
  mkdirSync(join(project, "node_modules/.bin"), { recursive: true });
  writeFileSync(join(project, "node_modules/.bin/retrograde-rl"), "");
  expect(commandPrefix({ npm_config_user_agent }, project, { name, version: "" })).toBe(prefix);
});

test("a path is quoted where a shell would cut it", () => {
  expect(quoted("runs/office-1")).toBe("runs/office-1");
  expect(quoted("my runs/a")).toBe("'my runs/a'");
  expect(quoted("it's")).toBe("'it'\\''s'");
  expect(quoted("a;rm")).toBe("'a;rm'");
});

test("a path below the folder of the program is shown from there, any other as it is", () => {
  const here = process.cwd();
  expect([shownPath(join(here, "runs/a")), shownPath("runs/b"), shownPath("./runs/c")]).toEqual(["runs/a", "runs/b", "runs/c"]);
  for (const other of [here, dirname(here), join(dirname(here), "beside"), tmpdir()]) expect(shownPath(other)).toBe(other);
});

test("letters, digits and the signs of paths need no quotes", () => {
  expect(quoted("~/Ab_9@x%y+z=1:2,3.4-5")).toBe("~/Ab_9@x%y+z=1:2,3.4-5");
  for (const text of ["", "a b", "$x", "a*", "é", "a\n"]) expect(quoted(text)).toBe(`'${text}'`);
});
