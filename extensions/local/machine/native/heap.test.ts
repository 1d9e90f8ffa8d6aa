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
