import { closeSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { gunzipBounded, linesOf, readBounded, requireFile, utf8Of } from "./bounded.ts";
import { NotAFile, openRegular, requireRegular } from "./regular.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-bounded-"));
const fileOf = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const lines = async (path: string) => {
  const read: string[] = [];
  for await (const line of linesOf(path)) read.push(line);
  return read;
};

test("a file within a number of bytes is read; a larger one, a folder and a link are named", () => {
  const path = fileOf("ten", "0123456789");
  expect(readBounded(path, 10).toString()).toBe("0123456789");
  requireFile(path);
  expect(() => readBounded(path, 9)).toThrow(`${path} has 10 bytes, more than the 9 that are read`);
  expect(() => requireFile(path, 9)).toThrow(NotAFile);
  expect(() => requireFile(folder)).toThrow(`${folder} is a folder, not a file`);
  expect(() => readBounded(folder, 9)).toThrow(`${folder} is a folder, not a file`);
  expect(() => readBounded(join(folder, "none"), 9)).toThrow("ENOENT");
  const link = join(folder, "link");
  symlinkSync(path, link);
  expect(readBounded(link, 10, "follow").toString()).toBe("0123456789");
  expect(readBounded(link, 10).toString()).toBe("0123456789");
  const { handle, found } = openRegular(link);
  closeSync(handle);
  expect(found.size).toBe(10);
  expect(() => readBounded(link, 10, "refuse")).toThrow(NotAFile);
  expect(() => openRegular(link, { links: "refuse" })).toThrow(`${link} is a link, not a file`);
});

test("other kinds are named by what they are", () => {
  const stats = (kind: string) =>
    ({
      isFile: () => false,
      isDirectory: () => kind === "folder",
      isFIFO: () => kind === "pipe",
      isSocket: () => kind === "socket",
    }) as never;
  for (const kind of ["folder", "pipe", "socket", "device"])
    expect(() => requireRegular("x", stats(kind))).toThrow(`x is a ${kind}, not a file`);
});

test("gzip is unpacked to a hundred times its size, or 64 MiB", () => {
  expect(gunzipBounded(gzipSync("text")).toString()).toBe("text");
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20 + 1));
  expect(() => gunzipBounded(bomb)).toThrow("it unpacks to more than 67108864 bytes, as no text of its size does");
  expect(() => gunzipBounded(Buffer.from("no gzip"))).toThrow("incorrect header check");
});

test("text is UTF-8 without a byte order mark; another encoding is refused by its line", async () => {
  expect(utf8Of(Buffer.from("\ufeffü"))).toBe("ü");
  const latin = Buffer.concat([Buffer.from("a\nb\n"), Buffer.from([0xfc])]);
  expect(() => utf8Of(latin)).toThrow("line 3 is not UTF-8");
  expect(() => utf8Of(Buffer.from([0xfc]), 7)).toThrow("line 7 is not UTF-8");
  await expect(lines(fileOf("latin", latin))).rejects.toThrow("line 3 is not UTF-8");
});

test("lines are read one by one, from packed files too, with and without an end", async () => {
  expect(await lines(fileOf("a", "one\n\ntwo"))).toEqual(["one", "", "two"]);
  expect(await lines(fileOf("b", "one\n"))).toEqual(["one"]);
  expect(await lines(fileOf("c", ""))).toEqual([]);
  expect(await lines(fileOf("d.gz", gzipSync("one\ntwo\n")))).toEqual(["one", "two"]);
  // Lines across the chunks of a file.
  const long = ["x".repeat(70_000), "y".repeat(100_000), "z"];
  expect(await lines(fileOf("e", long.join("\n")))).toEqual(long);
  await expect(lines(fileOf("f.gz", "no gzip"))).rejects.toThrow("incorrect header check");
  await expect(lines(folder)).rejects.toThrow("is a folder");
});
