import { mkdtempSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ModelError } from "../../../../src/core/errors.ts";
import { randomStream } from "../../../../src/core/random.ts";
import { processorMs } from "../../../../test/slowdown.ts";
import { readGguf } from "./file.ts";

const golden = (name: string) => new URL(`../../../../test/golden/gguf/${name}`, import.meta.url).pathname;
const bytes = readFileSync(golden("types.gguf"));

const folder = mkdtempSync(join(tmpdir(), "gguf-"));

async function fileOf(content: Uint8Array, name = "changed.gguf"): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

const errorOf = (file: string): Promise<unknown> =>
  readGguf([file]).then(
    () => undefined,
    (error: unknown) => error,
  );

test("1,000 mutated headers are read or refused with the field and its byte, in bounded time and memory", async () => {
  const random = randomStream(3, "mutated headers");
  const headerEnd = Math.min(...[...(await readGguf([golden("types.gguf")])).tensors.values()].map(({ start }) => start));
  const extremes = [0, 1, 0x7f, 0x80, 0xff];
  const began = processorMs();
  const memory = process.memoryUsage().rss;
  let refused = 0;
  for (let i = 0; i < 1000; i++) {
    const mutated = Buffer.from(bytes);
    const at = Math.floor(random.uniform() * (headerEnd - 8));
    const kind = i % 3;
    if (kind === 0) mutated[at] = extremes[Math.floor(random.uniform() * extremes.length)];
    else if (kind === 1) mutated.writeBigUInt64LE(BigInt.asUintN(64, BigInt(Math.floor(random.uniform() * 2 ** 52)) << 11n), at);
    else mutated.copy(mutated, at, Math.floor(random.uniform() * headerEnd), headerEnd);
    const file = await fileOf(mutated);
    const error = await errorOf(file);
    if (error === undefined) continue;
    refused++;
    expect(error).toBeInstanceOf(ModelError);
    expect(String(error)).toContain(file);
  }
  expect(refused).toBeGreaterThan(500);
  expect(processorMs() - began).toBeLessThan(60_000);
  expect(process.memoryUsage().rss - memory).toBeLessThan(300e6);
});
