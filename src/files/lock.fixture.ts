import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takeLock } from "./lock.ts";

export const newFile = () => join(mkdtempSync(join(tmpdir(), "retrograde-lock-")), ".lock");
export const holderOf = (file: string) => {
  const taken = takeLock(file);
  return "holder" in taken ? taken.holder : undefined;
};
