import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decodeForwardBackward } from "../../../../research/tinker-server/wire.ts";
import { decodeForwardBackwardResult, encodeForwardBackward } from "./forward-backward.ts";
import { decodeSamples } from "./samples.ts";

const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));

const shared = new URL("../../../../../shared/tinker/", import.meta.url);
const records = existsSync(shared)
  ? ["ok", "failures"].flatMap((file) => JSON.parse(readFileSync(new URL(`${file}.json`, shared), "utf8")) as Recorded[])
  : [];
test.skipIf(records.length === 0)(
  "every recorded message, as the protocol's own classes decode it (needs ../shared/tinker)",
  () => {
    let read = 0;
    for (const { name, request, response } of records) {
      for (const { message, base64 = "", json } of [request, response]) {
        if (message === undefined || name.includes("sparse tensor") || name.includes("target_tokens missing")) continue;
        read++;
        const body = bytes(base64);
        if (message === "SampleResponse") {
          const { sequences, promptLogprobs } = decodeSamples(body);
          const expected = json as { sequences: { tokens: number[]; logprobs: number[] }[]; prompt_logprobs: number[] | null };
          expect(sequences.map(({ tokens }) => tokens)).toEqual(expected.sequences.map(({ tokens }) => tokens));
          expect(sequences.map(({ logprobs }) => logprobs)).toEqual(expected.sequences.map(({ logprobs }) => logprobs));
          expect(promptLogprobs ?? null).toEqual(expected.prompt_logprobs);
        } else if (message === "ForwardBackwardOutput") {
          const expected = json as { loss_fn_outputs: { fields: Record<string, { data: unknown[] }> }[] };
          const { fields } = decodeForwardBackwardResult(body);
          for (const [field, rows] of Object.entries(fields)) {
            const values = rows.flat().map((value) => (Number.isFinite(value) ? value + 0 : named(value)));
            expect(values).toEqual(expected.loss_fn_outputs.flatMap((record) => record.fields[field].data));
          }
        } else {
          const decoded = decodeForwardBackward(body);
          expect(decodeForwardBackward(encodeForwardBackward(decoded))).toEqual(decoded);
        }
      }
    }
    expect(read).toBeGreaterThan(100);
  },
);

interface RecordedSide {
  readonly message?: string;
  readonly base64?: string;
  readonly json?: unknown;
}
interface Recorded {
  readonly name: string;
  readonly request: RecordedSide;
  readonly response: RecordedSide;
}

function named(value: number): string {
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}
