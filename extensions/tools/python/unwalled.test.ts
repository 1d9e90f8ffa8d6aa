import { afterEach, expect, test, vi } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { createPython } from "./python.ts";

vi.mock("./walls.ts", () => ({
  isWalled: () => false,
  walls: () => [{ name: "limits", holds: false, text: "win32 has none that Node could set" }],
}));

afterEach(() => {
  vi.unstubAllEnvs();
});

test("without a wall of the operating system Python starts only if that is allowed, and the error names the flag", () => {
  const thrown = () => createPython();
  expect(thrown).toThrow(ToolError);
  expect(thrown).toThrow(/win32 has none.*--allow-unwalled-python/s);
  createPython({ allowUnwalled: true }).close();
  vi.stubEnv("RETROGRADE_ALLOW_UNWALLED_PYTHON", "1");
  createPython().close();
});
