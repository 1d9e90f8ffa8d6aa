import { expect, test } from "vitest";
import { GrowableFloats } from "../machine/growable.ts";
import { loadModel } from "../model/model-folder.ts";
import { SamplingGraph } from "./sampling-graph.ts";
import { stepInputs } from "./step-inputs.ts";

test("decoding steps of one place share their arrays, and those over prompts have their own", async () => {
  const { config, parameters } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
  const arrays = new Map([...parameters].map(([name, { data }]) => [name, data]));
  const graph = await SamplingGraph.open(config, arrays, { threads: 1, weightsAsInputs: true });
  const none = Array.from({ length: config.layers }, () => new Float32Array(config.kvHeads * config.headDim));
  const step = async (pending: number[], place: number) => {
    const row = { tokens: [], pending, choice: { temperature: 1, topP: 1, topK: 0 } };
    const inputs = stepInputs([row], pending.length, 1, new GrowableFloats());
    return graph.step({ ...inputs, keys: none, values: none }, { logits: false, place });
  };
  const bufferOf = async (pending: number[], place: number) => (await step(pending, place)).probabilities.buffer;
  const first = await bufferOf([1], 0);
  expect(await bufferOf([2], 0)).toBe(first);
  expect(await bufferOf([1], 1)).not.toBe(first);
  expect(await bufferOf([1, 2], 0)).not.toBe(await bufferOf([1, 2], 0));
  const { probabilities, logits, made } = await step([1], 0);
  expect(probabilities.reduce((sum, probability) => sum + probability, 0)).toBeCloseTo(1, 5);
  expect([logits, made?.chunk, made?.keys.length]).toEqual([undefined, 1, config.layers]);
  await graph.close();
});
