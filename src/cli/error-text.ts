import { RetrogradeError } from "../core/errors.ts";
import { printable } from "../terminal/printable.ts";

/** One clear message; the stack for those who ask for it. */
export function errorText(error: unknown, debug: boolean): string {
  return printable(describeError(error, debug));
}

function describeError(error: unknown, debug: boolean): string {
  if (!(error instanceof Error)) return `error: ${String(error)}\n`;
  if (debug)
    return `${error.stack ?? error.message}\n${error.cause === undefined ? "" : `caused by ${describeError(error.cause, debug)}`}`;
  if (error instanceof RetrogradeError) return `error: ${error.message}\n`;
  const next = nextSteps["code" in error ? String(error.code) : ""];
  if (next !== undefined) return `error: ${error.message}. ${next}\n`;
  return `error: ${error.message || error.name}\nThis should not have happened; --debug shows where it did.\n`;
}

/** Errors of the file system that are no mistake of the program, with the user's next step. */
const nextSteps: Readonly<Record<string, string>> = {
  ENOSPC: "The disk is full: free some space, then start again.",
  EDQUOT: "The quota of the disk is used up: free some space, then start again.",
  EACCES: "Name a file or folder that this user may use.",
  EPERM: "Name a file or folder that this user may use.",
  EROFS: "Name a folder that can be written.",
  ENOENT: "Name a file that is there, or a folder that can be written.",
  ENOTDIR: "Name a folder: a part of this path is a file.",
  EISDIR: "Name a file: this is a folder.",
  EEXIST: "Name another file or folder: this one is there.",
  ENAMETOOLONG: "Choose a shorter name.",
  EMFILE: "Too many files are open: raise the limit (ulimit -n).",
};
