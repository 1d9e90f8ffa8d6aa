import { expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { errorText } from "./error-text.ts";

const coded = (code: string) => Object.assign(new Error(`${code}: open "x"`), { code });

test.each<[string, unknown, string]>([
  [
    "one of ours is its message",
    new ConfigError("steps", 0, { expected: "a number above 0" }),
    "error: steps is 0; expected a number above 0.\n",
  ],
  ["a text", "broken", "error: broken\n"],
  ["nothing", undefined, "error: undefined\n"],
  ["a full disk", coded("ENOSPC"), 'error: ENOSPC: open "x". The disk is full: free some space, then start again.\n'],
  ["a quota", coded("EDQUOT"), 'error: EDQUOT: open "x". The quota of the disk is used up: free some space, then start again.\n'],
  ["no right", coded("EACCES"), 'error: EACCES: open "x". Name a file or folder that this user may use.\n'],
  ["no permission", coded("EPERM"), 'error: EPERM: open "x". Name a file or folder that this user may use.\n'],
  ["read only", coded("EROFS"), 'error: EROFS: open "x". Name a folder that can be written.\n'],
  ["no file", coded("ENOENT"), 'error: ENOENT: open "x". Name a file that is there, or a folder that can be written.\n'],
  ["no folder", coded("ENOTDIR"), 'error: ENOTDIR: open "x". Name a folder: a part of this path is a file.\n'],
  ["a folder", coded("EISDIR"), 'error: EISDIR: open "x". Name a file: this is a folder.\n'],
  ["there already", coded("EEXIST"), 'error: EEXIST: open "x". Name another file or folder: this one is there.\n'],
  ["a long name", coded("ENAMETOOLONG"), 'error: ENAMETOOLONG: open "x". Choose a shorter name.\n'],
  ["many files", coded("EMFILE"), 'error: EMFILE: open "x". Too many files are open: raise the limit (ulimit -n).\n'],
  ["another code", coded("EOTHER"), 'error: EOTHER: open "x"\nThis should not have happened; --debug shows where it did.\n'],
  ["any other", new TypeError("no"), "error: no\nThis should not have happened; --debug shows where it did.\n"],
  ["without a message", new TypeError(), "error: TypeError\nThis should not have happened; --debug shows where it did.\n"],
])("an error as a person reads it: %s", (_, error, text) => {
  expect(errorText(error, false)).toBe(text);
});

test("--debug shows the stack, and the causes with theirs", () => {
  const text = errorText(new ConfigError("steps", 0, { cause: new Error("inner", { cause: "innermost" }) }), true);
  expect(text).toMatch(
    /^ConfigError: steps is 0\.\n +at [\s\S]*\ncaused by Error: inner\n +at [\s\S]*\ncaused by error: innermost\n$/,
  );
  expect(errorText(Object.assign(new Error("bare"), { stack: undefined }), true)).toBe("bare\n");
});
