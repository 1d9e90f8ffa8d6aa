import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { createLocalEngine } from "../engine.ts";

const model = new URL("../../../test/golden/models/mistral", import.meta.url).pathname; // 64 tokens

test("ids that the model does not have, and temperatures that are none, are refused wherever they are given", async () => {
  const engine = await createLocalEngine({ model, threads: 1 });
  const where = { trajectory: "a", turn: 0 };
  for (const id of [-1, 64, 1.5, Number.NaN]) {
    const refusal = `token id is ${id}; expected 0 to 63`;
    const request = { context: [1, id], maxTokens: 1, stopTokens: [], seed: 1 };
    await expect(engine.sample(request)).rejects.toThrow(refusal);
    for (const sample of [
      { ...where, context: [1, id], action: [2] },
      { ...where, context: [1], action: [2, id] },
    ]) {
      await expect(engine.logprobs([sample], { temperature: 1 })).rejects.toThrow(refusal);
      await expect(engine.forwardBackward([sample], () => [[1]], { temperature: 1 })).rejects.toThrow(EngineError);
    }
  }
  const sample = { ...where, context: [1], action: [63] };
  for (const temperature of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    const refusal = `temperature is ${temperature}; expected a number above 0`;
    await expect(engine.logprobs([sample], { temperature })).rejects.toThrow(refusal);
    await expect(engine.forwardBackward([sample], [[1]], { temperature })).rejects.toThrow(refusal);
  }
  expect(await engine.logprobs([sample], { temperature: 0.5 })).toEqual([[expect.any(Number)]]);
  await engine.dispose();
});
