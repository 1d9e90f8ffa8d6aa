import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { makeFolder } from "./folder.ts";

test.skipIf(!existsSync("/proc/self"))("so is a file system that holds no folders, without a loop", () => {
  expect(() => makeFolder("/proc/retrograde/a")).toThrow(/ENOENT/);
});
