import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { expect, test } from "vitest";
import { CreditWriter, encodeCredits, hexOf, type TurnCredit, unknownChecksum } from "./credits.ts";
import { layout } from "./layout.ts";
import { schemaVersion } from "./schema.ts";

const credits: readonly TurnCredit[] = [
  {
    ...{ optimiserStep: 1, trajectory: "t/0", turn: 2, advantage: 0.5, factor: 0.25, learningRate: 0.125 },
    ...{ weights: [0.5, -2], before: [-1, -2], old: [-1, -1], after: [-3, -4], end: [-5, -6] },
  },
  { optimiserStep: 3, trajectory: "t/1", turn: 0, learningRate: 1, weights: [4], before: [-2], old: [-3] },
  { optimiserStep: 3, trajectory: "t/2", turn: 0, learningRate: 1, weights: [], before: [], old: [] },
];

const read = async (bytes: Uint8Array) =>
  parquetReadObjects({ file: Uint8Array.from(bytes).buffer as ArrayBuffer }) as Promise<Record<string, unknown>[]>;
/** A number as a file of single precision has it. */
const single = Math.fround;

test("a row a token: its weight, its log-probs, and its ratio to the policy before the update", async () => {
  const token = (own: object) => ({ logprob_after: Number.NaN, logprob_end: Number.NaN, ...own });
  const first = { optimiser_step: 1, trajectory: "t/0", turn: 2 };
  expect(await read(encodeCredits(credits).tokens)).toEqual([
    token({ ...first, token: 0, weight: 0.5, logprob_before: -1, logprob_after: -3, logprob_end: -5, ratio: 1 }),
    token({
      ...{ ...first, token: 1, weight: -2, logprob_before: -2, logprob_after: -4, logprob_end: -6 },
      ratio: single(Math.exp(-1)),
    }),
    token({ optimiser_step: 3, trajectory: "t/1", turn: 0, token: 0, weight: 4, logprob_before: -2, ratio: single(Math.E) }),
  ]);
});

test("a row a turn: its advantage and factor, the sum of its weights, and the geometric mean of its ratios", async () => {
  const none = { advantage: Number.NaN, factor: Number.NaN };
  const { advantage, factor } = credits[0] as TurnCredit;
  expect(await read(encodeCredits(credits).turns)).toEqual([
    {
      ...{ optimiser_step: 1, trajectory: "t/0", turn: 2, tokens: 2, advantage, factor },
      ...{ ratio: single(Math.exp(-0.5)), weight: -1.5, learning_rate: 0.125 },
    },
    { optimiser_step: 3, trajectory: "t/1", turn: 0, tokens: 1, ...none, ratio: single(Math.E), weight: 4, learning_rate: 1 },
    { optimiser_step: 3, trajectory: "t/2", turn: 0, tokens: 0, ...none, ratio: 1, weight: 0, learning_rate: 1 },
  ]);
});

test("the metadata has the schema's version, and the checksum of the file with zeros in its place", () => {
  for (const bytes of Object.values(encodeCredits(credits))) {
    const file = Uint8Array.from(bytes);
    const known = Object.fromEntries(
      (parquetMetadata(file.buffer as ArrayBuffer).key_value_metadata ?? []).map(({ key, value }) => [key, value]),
    );
    const sum = String(known["retrograde.crc32"]);
    expect(known).toEqual({
      "retrograde.schema": String(schemaVersion),
      "retrograde.crc32": expect.stringMatching(/^[0-9a-f]{8}$/),
    });
    const open = Buffer.from(file);
    open.write(unknownChecksum, open.lastIndexOf(sum), "latin1");
    expect(hexOf(crc32(open))).toBe(sum);
  }
  expect([hexOf(0), hexOf(255), unknownChecksum]).toEqual(["00000000", "000000ff", "00000000"]);
});

test("credits are written beside the training, in order; a file that could not be written is an error of the next call", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-credits-"));
  const writer = new CreditWriter(folder);
  writer.write(1, credits);
  await writer.flush();
  const { tokens, turns } = encodeCredits(credits);
  expect(readFileSync(layout.tokenCredits(folder, 1)).equals(Buffer.from(tokens))).toBe(true);
  expect(readFileSync(layout.turnCredits(folder, 1)).equals(Buffer.from(turns))).toBe(true);
  const file = join(folder, "file");
  writeFileSync(file, "");
  const failing = new CreditWriter(file);
  failing.write(1, credits);
  await expect(failing.flush()).rejects.toThrow(/not written/);
  expect(() => failing.write(2, credits)).toThrow(/not written/);
  expect(existsSync(layout.tokenCredits(folder, 2))).toBe(false);
});
