import { expect, test } from "vitest";
import { ggufType, ggufTypeNames } from "./types.ts";

/** enum ggml_type of ggml.h, as far as files have them. */
const ggml = [
  ...["F32", "F16", "Q4_0", "Q4_1", undefined, undefined, "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"],
  ...["Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8", "I16", "I32", "I64", "F64"],
  ...["IQ1_M", "BF16", undefined, undefined, undefined, "TQ1_0", "TQ2_0", undefined, undefined, undefined, "MXFP4", "NVFP4"],
];
const read = ["F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "BF16"];

test("types have the numbers and names of ggml; some are read, and the others are named", () => {
  expect(ggufTypeNames).toEqual(read);
  for (const [id, name = `number ${id}`] of [...ggml, undefined].entries()) {
    const type = ggufType(id);
    expect(typeof type === "string" ? type : type.name).toBe(name);
    expect([name, typeof type === "string"]).toEqual([name, !read.includes(name)]);
  }
});

test("a block of each type has as many numbers and bytes as ggml-common.h gives it", () => {
  const sizes = Object.fromEntries(
    ggml.flatMap((_, id) => {
      const type = ggufType(id);
      return typeof type === "string" ? [] : [[type.name, [type.values, type.bytes]]];
    }),
  );
  // A scale has 2 bytes, and so has a least; 4 bits of 32 numbers have 16, their fifths 4.
  expect(sizes).toEqual({
    ...{ F32: [1, 4], F16: [1, 2], BF16: [1, 2], Q8_0: [32, 2 + 32] },
    ...{ Q4_0: [32, 2 + 16], Q4_1: [32, 2 + 2 + 16], Q5_0: [32, 2 + 4 + 16], Q5_1: [32, 2 + 2 + 4 + 16] },
    ...{ Q4_K: [256, 2 + 2 + 12 + 128], Q5_K: [256, 2 + 2 + 12 + 32 + 128], Q6_K: [256, 128 + 64 + 16 + 2] },
  });
});
