import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statSync } from "node:fs";

/** A pipe, a device, a folder or a link, or a file with more bytes than are read. */
export class NotAFile extends Error {}

export interface RegularOptions {
  /** Default: for reading. */
  readonly flags?: number;
  /** Whether a link is followed. Files of a run are no links: whoever made the run could lead them anywhere. Default "follow". */
  readonly links?: "follow" | "refuse";
  /** Default: any size. */
  readonly maxBytes?: number;
}

// Windows has neither of the two.
const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;

/**
 * Opens a regular file, and nothing else, without waiting: a pipe without a writer would be waited for without end. What was opened is looked at,
 * not what its name meant before.
 * @throws NotAFile for anything else, or one that is too large; the system's errors
 */
export function openRegular(
  path: string,
  { flags = O_RDONLY, links = "follow", maxBytes = Number.POSITIVE_INFINITY }: RegularOptions = {},
): { readonly handle: number; readonly found: Stats } {
  if (links === "refuse" && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw isA(path, "link");
  let handle: number;
  try {
    handle = openSync(path, flags | O_NONBLOCK | (links === "refuse" ? O_NOFOLLOW : 0), 0o666);
  } catch (error) {
    // A socket, or a pipe that nobody reads, cannot be opened so; a folder only for reading.
    const other = statSync(path, { throwIfNoEntry: false });
    throw other === undefined || other.isFile() ? error : isA(path, kindOf(other));
  }
  try {
    const found = fstatSync(handle);
    requireRegular(path, found, maxBytes);
    return { handle, found };
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

/** @throws NotAFile */
export function requireRegular(path: string, found: Stats, maxBytes = Number.POSITIVE_INFINITY): void {
  if (!found.isFile()) throw isA(path, kindOf(found));
  if (found.size > maxBytes) throw new NotAFile(`${path} has ${found.size} bytes, more than the ${maxBytes} that are read`);
}

function isA(path: string, kind: string): NotAFile {
  return new NotAFile(`${path} is a ${kind}, not a file`);
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return "folder";
  if (found.isFIFO()) return "pipe";
  return found.isSocket() ? "socket" : "device";
}
