import { closeSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/errors.ts";
import { guest, imageError, makeImage } from "./image.ts";

test("an image is made of the installed Pyodide by a process, and read from a file without a name", async () => {
  let asked: readonly string[] = [];
  const descriptor = await makeImage(async (args) => {
    asked = args;
    writeFileSync(args[2] ?? "", "an image");
  });
  const [program, pyodide = "", file = ""] = asked;
  expect(program).toBe(join(guest, "build.mjs"));
  expect(existsSync(join(pyodide, "pyodide.asm.wasm"))).toBe(true);
  expect(readFileSync(descriptor, "utf8")).toBe("an image");
  expect(existsSync(dirname(file))).toBe(false);
  closeSync(descriptor);
});

test("an image that is not made leaves nothing behind", async () => {
  let file = "";
  const failed = makeImage(async (args) => {
    file = args[2] ?? "";
    writeFileSync(file, "half");
    throw Object.assign(new Error("killed"), { signal: "SIGTERM" });
  });
  await expect(failed).rejects.toMatchObject({ value: "ended by SIGTERM while its image was made" });
  expect(existsSync(dirname(file))).toBe(false);
  const known = new ToolError("python", "without Node");
  expect(imageError(known)).toBe(known);
});

test.each([
  [{ code: "MODULE_NOT_FOUND" }, /without the package pyodide.*npm install pyodide/],
  [{ signal: "SIGKILL", stderr: "" }, /ended by SIGKILL.*want of memory/],
  [{ code: 1, stderr: "Error: ENOSPC: no space left on device, write\n at …" }, /ENOSPC: no space left.*TMPDIR/],
  [Object.assign(new Error("EMFILE: too many open files, mkdtemp"), { code: "EMFILE" }), /EMFILE: too many open files.*TMPDIR/],
  [new Error("something else"), /^python is "something else"; expected an image of Python's interpreter\.$/],
])("what kept the image from being made is told: %j", (cause, message) => {
  expect(imageError(cause).message).toMatch(message);
});
