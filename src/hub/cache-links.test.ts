import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { link } from "./cache.ts";

vi.mock("node:fs/promises", async (original) => ({ ...(await original<object>()), symlink: vi.fn() }));

const failing = (code: string) => vi.mocked(symlink).mockRejectedValue(Object.assign(new Error("no link"), { code }));

test.each(["EPERM", "ENOSYS"])("where links are not allowed (%s) the file itself is moved", async (code) => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-links-"));
  writeFileSync(join(folder, "blob"), "bytes");
  failing(code);
  await link(join(folder, "blob"), join(folder, "snapshot"), "file");
  expect(readFileSync(join(folder, "snapshot/file"), "utf8")).toBe("bytes");
  expect(existsSync(join(folder, "blob"))).toBe(false);
});

test("any other problem with a link is an error, unless another process has put the file there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-links-"));
  writeFileSync(join(folder, "blob"), "bytes");
  failing("ENOSPC");
  await expect(link(join(folder, "blob"), join(folder, "snapshot"), "file")).rejects.toThrow("no link");
  vi.mocked(symlink).mockImplementation(async (_, target) => {
    writeFileSync(String(target), "its own");
    throw Object.assign(new Error("no link"), { code: "EEXIST" });
  });
  await link(join(folder, "blob"), join(folder, "snapshot"), "file");
  expect(readFileSync(join(folder, "snapshot/file"), "utf8")).toBe("its own");
  expect(existsSync(join(folder, "blob"))).toBe(true);
});
