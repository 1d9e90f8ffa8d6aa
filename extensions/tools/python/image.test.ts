import { expect, test } from "vitest";
import { imageError } from "./image.ts";

test.each([
  [{ code: "MODULE_NOT_FOUND" }, /without the package pyodide.*npm install pyodide/],
  [{ signal: "SIGKILL", stderr: "" }, /ended by SIGKILL.*want of memory/],
  [{ code: 1, stderr: "Error: ENOSPC: no space left on device, write\n at …" }, /ENOSPC: no space left.*TMPDIR/],
  [Object.assign(new Error("EMFILE: too many open files, mkdtemp"), { code: "EMFILE" }), /EMFILE: too many open files.*TMPDIR/],
  [new Error("something else"), /^python is "something else"; expected an image of Python's interpreter\.$/],
])("what kept the image from being made is told: %j", (cause, message) => {
  expect(imageError(cause).message).toMatch(message);
});
