import { expect, test } from "vitest";
import { planRun } from "./train.ts";

test("what no engine of the kind can do is refused before a model is looked for", async () => {
  const model = "no/such-model";
  await expect(planRun({ model, engine: { device: "webgpu" }, rollout: { ahead: 1 } })).rejects.toThrow(
    /rollout\.ahead is 1; expected 0, or an engine with the capability "frozen-policies" \(the engine "local" has .*WebGPU/,
  );
  await expect(planRun({ model, engine: { device: "openvino", lora: { base: "int4" } } })).rejects.toThrow(
    'engine.lora.base is "int4"; expected "float32" on openvino',
  );
});
