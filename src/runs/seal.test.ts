import fc from "fast-check";
import { expect, test } from "vitest";
import { lostItsEnd, sealed, unsealed } from "./seal.ts";

const records = fc.record({
  step: fc.integer(),
  text: fc.string(),
  inner: fc.dictionary(fc.string(), fc.double({ noNaN: true })),
});

test.each([undefined, 2])(
  "what was sealed is read back, and every flipped bit is refused or changes nothing (indent %s)",
  (indent) => {
    fc.assert(
      fc.property(records, fc.nat(), (record, bit) => {
        const text = sealed(JSON.stringify(record, null, indent));
        const { crc32: _, ...read } = unsealed(text) as Record<string, unknown>;
        const written = JSON.stringify(record);
        expect(JSON.stringify(read)).toBe(written);
        const bytes = Buffer.from(text);
        bytes[(bit >> 3) % bytes.length] ^= 1 << (bit & 7);
        try {
          const { crc32: _seal, ...damaged } = unsealed(bytes.toString()) as Record<string, unknown>;
          // What is left unseen is damage of the seal's own name.
          expect(JSON.stringify(damaged).startsWith(written.slice(0, -1))).toBe(true);
        } catch (error) {
          expect(String(error)).toMatch(/JSON|checksum/);
        }
      }),
      { numRuns: 500 },
    );
  },
);

test("a line that lost its end is no line that a kill cut off", () => {
  const line = sealed('{"step":1}');
  expect([`${line}\u000b`, line].map(lostItsEnd)).toEqual([true, true]);
  for (let length = 0; length < line.length; length++) expect(lostItsEnd(line.slice(0, length))).toBe(false);
});
