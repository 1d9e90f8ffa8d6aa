import { Command } from "commander";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { requireTrusted, UntrustedError } from "../sdk/trust.ts";
import { debuggable, runningPython, trusting } from "./command-tools.ts";

beforeEach(() => {
  vi.stubEnv("RETROGRADE_ALLOW_UNWALLED_PYTHON", undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Calls a command with options, which then does nothing. */
const call = (add: (command: Command) => Command, ...options: string[]) =>
  add(new Command("x"))
    .action(() => {})
    .parse(options, { from: "user" })
    .opts();

test("a permission for Python is read from the environment by the tool, and is set only where it is given", () => {
  call(runningPython);
  expect(process.env.RETROGRADE_ALLOW_UNWALLED_PYTHON).toBeUndefined();
  call(runningPython, "--allow-unwalled-python");
  expect(process.env.RETROGRADE_ALLOW_UNWALLED_PYTHON).toBe("1");
});

test("--trust lets every record act, and nothing else does", () => {
  const act = () => requireTrusted("/elsewhere", () => false, [[{ kind: "starts", what: "rm" }]]);
  call(trusting);
  expect(act).toThrow(UntrustedError);
  expect(act).toThrow('If you trust those who made it, allow it with --trust; from code, with trustRun("/elsewhere").');
  call(trusting, "--trust");
  expect(act).not.toThrow();
});

test("--debug is an option of a command", () => {
  expect([call(debuggable, "--debug"), call(debuggable)]).toEqual([{ debug: true }, {}]);
});
