import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { loadModel } from "./model-folder.ts";
import { packBatch, packRows } from "./packing.ts";
import { readSafetensors } from "./safetensors.ts";
import { TrainingGraph } from "./training-graph.ts";

describe.each(["qwen3"])("golden model %s", (name) => {
  const folder = `test/golden/models/${name}`;
  test("log-probs and gradients", async () => {
    const model = await loadModel(folder);
    const inputs = JSON.parse(await readFile(`${folder}/inputs.json`, "utf8"));
    const expected = await readSafetensors(`${folder}/expected.safetensors`);
    const grads = await readSafetensors(`${folder}/gradients.safetensors`);
    const samples = inputs.inputIds.map((ids: number[], b: number) => ({
      trajectory: String(b),
      turn: 0,
      context: ids.slice(0, 1),
      action: ids.slice(1, inputs.lengths[b]),
    }));
    const params = new Map([...model.parameters].map(([n, t]) => [n, t.data]));
    const graph = await TrainingGraph.open(model.config, { threads: 2 });
    const batch = packBatch(packRows(samples, 24));
    const lp = await graph.logprobs(batch, params, 1);
    let worst = 0;
    const w = new Float32Array(batch.targets.length);
    for (const { sample, scored } of batch.places)
      scored.forEach((p, j) => {
        worst = Math.max(worst, Math.abs(lp[p] - expected.get("tokenLogprobs")!.data[sample * 24 + 1 + j]));
        w[p] += inputs.weights[sample][1 + j];
      });
    console.log("worst lp", worst);
    const gradients = new Map([...params].map(([n, d]) => [n, new Float32Array(d.length)]));
    await graph.backward(batch, w, params, 1, gradients);
    for (const [n, g] of grads) {
      const max = Math.max(...g.data.map(Math.abs));
      const err = Math.max(...g.data.map((x, i) => Math.abs(x - gradients.get(n)![i])));
      if (err / max > 1e-4) console.log(n, err / max);
    }
    expect(worst).toBeLessThan(1e-4);
  });
});
