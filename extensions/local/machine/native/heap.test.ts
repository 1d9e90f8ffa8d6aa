import koffi from "koffi";
import { expect, test } from "vitest";
import { heapOf } from "./heap.ts";

test("what lies free between what is held leaves the process, where the C library can", async () => {
  const giveBack = heapOf(koffi);
  const report = process.report.getReport() as unknown as { readonly header: { readonly glibcVersionRuntime?: string } };
  if (report.header.glibcVersionRuntime === undefined) return expect(await giveBack()).toBeUndefined();
  const libc = koffi.load("libc.so.6");
  const [malloc, free, memset] = [
    libc.func("void *malloc(size_t bytes)"),
    libc.func("void free(void *at)"),
    libc.func("void *memset(void *at, int value, size_t bytes)"),
  ];
  const blocks = Array.from({ length: 1200 }, () => {
    const block = malloc(100_000);
    memset(block, 1, 100_000);
    return { block, held: malloc(20_000) };
  });
  for (const { block } of blocks) free(block);
  const before = process.memoryUsage.rss();
  await giveBack();
  expect(before - process.memoryUsage.rss()).toBeGreaterThan(60e6); // of 120e6
  for (const { held } of blocks) free(held);
});

test("without glibc nothing is given back, and what goes wrong in it is thrown", async () => {
  const missing = {
    load: () => {
      throw new Error("libc.so.6: cannot open shared object file");
    },
  };
  expect(await heapOf(missing as never)()).toBeUndefined();
  const asked: unknown[] = [];
  const trimming = (error: unknown) => ({
    load: (library: string) => ({
      func: (signature: string) => ({
        async: (bytes: number, done: (error: unknown) => void) => {
          asked.push([library, signature, bytes]);
          done(error);
        },
      }),
    }),
  });
  const on = (error: unknown) => heapOf(trimming(error) as never, "linux")();
  expect(await on(null)).toBeUndefined();
  await expect(on(new Error("no thread"))).rejects.toThrow("no thread");
  expect(asked).toEqual([1, 2].map(() => ["libc.so.6", "int malloc_trim(size_t pad)", 0]));
  await heapOf(trimming(null) as never, "darwin")();
  expect(asked.length).toBe(2);
});
