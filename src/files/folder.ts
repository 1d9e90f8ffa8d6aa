import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and those above it that are missing, one after the other. Node's own recursive way says ENOENT where a disk is read-only, and
 * never returns where a file system holds no folders, as /proc.
 * @throws the system's error
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (isFolder(path)) return;
    if (code !== "ENOENT" || dirname(path) === path || isFolder(dirname(path))) throw error;
    makeFolder(dirname(path));
    makeFolder(path);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
