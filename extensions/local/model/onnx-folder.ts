import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "../../../src/core/errors.ts";
import { Graph } from "../graph/graph.ts";
import { serialiseWhole } from "../graph/onnx.ts";
import type { Tensor } from "../graph/tensor.ts";
import { writeAtomically } from "../machine/atomic-file.ts";
import type { ModelConfig } from "./model-config.ts";
import { type Model, saveCompanions } from "./model-folder.ts";
import { rotationFeeds } from "./rotation.ts";
import { type Attend, attentionScale, decoder, parametersOf, typeOf, unembed } from "./transformer.ts";

/** Protobuf has no larger messages. */
const largestBytes = 2 ** 31 - 2 ** 20;

/**
 * Writes a folder as transformers.js reads it: `onnx/model.onnx` in float32 with a cache of keys and values, config.json and the tokenizer.
 * @param folder a new one
 * @throws ModelError for a model of more than 2 GiB, and for one with convolutions
 */
export async function writeOnnxFolder(folder: string, model: Model): Promise<void> {
  const { config } = model;
  const refused = (what: string, received: unknown) =>
    new ModelError(`${what} as ONNX`, received, { hint: "Export a GGUF file (--to gguf) or a Hugging Face folder (--to hf)." });
  if (config.layerTypes?.includes("conv")) throw refused(config.architecture, "layers that are convolutions");
  const bytes = [...model.parameters.values()].reduce((sum, { data }) => sum + data.byteLength, 0);
  if (bytes > largestBytes) throw refused("weights", `${bytes} bytes`);
  await mkdir(join(folder, "onnx"), { recursive: true });
  await writeAtomically(join(folder, "onnx", "model.onnx"), [serialiseWhole(cachedGraph(model))]);
  // Without this, transformers.js looks for a quantised model in browsers.
  await saveCompanions(folder, { ...model, configFile: { ...model.configFile, "transformers.js_config": { dtype: "fp32" } } });
}

/** Logits of B rows of T new tokens, with the keys and values of P cached ones, by the names that exporters to ONNX have agreed on. */
function cachedGraph({ config, parameters }: Model): Graph {
  const g = new Graph();
  const weights = new Map<string, Tensor>();
  for (const [name, { data, shape }] of parameters) weights.set(name, g.constant(data, shape, name));
  const weight = parametersOf(weights);
  const tokens = g.input("input_ids", ["B", "T"], "int64");
  const seen = g.input("attention_mask", ["B", "P+T"], "int64");
  const positions = g.input("position_ids", ["B", "T"], "int64");
  const masks = new Map<number | undefined, Tensor>();
  const maskOf = (window: number | undefined) => {
    const mask = masks.get(window) ?? g.apply("causalMask", [seen, positions], { window })[0];
    masks.set(window, mask);
    return mask;
  };
  const attend: Attend = (layer, q, k, v) => {
    const [keys, values] = [["key", k] as const, ["value", v] as const].map(([name, fresh]) => {
      const past = g.input(`past_key_values.${layer}.${name}`, ["B", config.kvHeads, "P", config.headDim]);
      const all = g.concat([past, fresh], 2);
      g.output(`present.${layer}.${name}`, all);
      return all;
    });
    const mask = maskOf(typeOf(config, layer) === "sliding" ? config.window : undefined);
    return g.attention(q, keys, values, mask, attentionScale(config));
  };
  const model = { g, config, weight, foldNorms: false };
  g.output("logits", unembed(model, decoder(model, { tokens, positions }, attend)));
  holdRotations(g, config);
  return g;
}

/** Makes the rotations' tables, which are inputs in the engine's own graphs, constants. */
function holdRotations(g: Graph, config: ModelConfig): void {
  for (const [name, { data, shape }] of Object.entries(rotationFeeds(config, config.maxPositionEmbeddings))) {
    g.dropInput(name);
    g.constant(data, shape, name);
  }
}
