import { afterEach, expect, test, vi } from "vitest";
import { paintFor } from "./paint.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  [{}, true, true],
  [{}, false, false],
  [{}, undefined, false],
  [{ FORCE_COLOR: "1" }, false, true],
  [{ FORCE_COLOR: "0" }, true, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
])("with %j a stream whose isTTY is %j has colours: %j", (env: NodeJS.ProcessEnv, isTTY, expected) => {
  vi.stubEnv("NO_COLOR", env.NO_COLOR);
  vi.stubEnv("FORCE_COLOR", env.FORCE_COLOR);
  expect(paintFor({ isTTY }).isColorSupported).toBe(expected);
});
