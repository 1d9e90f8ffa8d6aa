import { expect, test } from "vitest";
import { written } from "../graph/written.fixture.ts";
import { type ModelConfig, parameterShapes } from "../model/model-config.ts";
import { decodeGraph, given, taken } from "./decode-graph.ts";

const config: ModelConfig = {
  ...{ architecture: "llama", eosTokenIds: [], maxPositionEmbeddings: 64, rmsNormEps: 0.5, attentionBias: false, qkNorm: false },
  ...{ rope: { theta: 1e4, scaling: undefined }, tieWordEmbeddings: true, vocabSize: 6, hiddenSize: 4, intermediateSize: 8 },
  ...{ layers: 1, heads: 2, kvHeads: 1, headDim: 2, window: 3, layerTypes: ["sliding"] },
};

test("a step over one layer writes its keys and values, attends to them, draws, and says how likely that was", () => {
  const graph = decodeGraph(config, parameterShapes(config));
  expect(written(graph)).toEqual({
    inputs: [
      "step[R, 5]",
      "range[S]",
      "cosine/all[positions, 1]",
      "sine/all[positions, 1]",
      "Keys0[R, 1, 2, S]",
      "Values0[R, 1, 2, S]",
    ],
    nodes: [
      "rowInputs0, rowInputs_0_1, rowInputs_0_2, rowInputs_0_3, rowInputs_0_4, rowInputs_0_5, rowInputs_0_6, rowInputs_0_7 = rowInputs(step, range) heads=1 size=2 window=3",
      "gather1 = gather(model.embed_tokens.weight, rowInputs0)",
      "rmsNormalise2, rmsNormalise_2_1 = rmsNormalise(gather1) epsilon=0.5",
      "mul3 = mul(rmsNormalise2, input_layernorm.weight)",
      "matmul4 = matmul(mul3, self_attn.q_proj.weight) transB=true",
      "matmul5 = matmul(mul3, self_attn.k_proj.weight) transB=true",
      "matmul6 = matmul(mul3, self_attn.v_proj.weight) transB=true",
      "reshape7 = reshape(matmul4) shape=[R,2,1,2]",
      "rotary8 = rotary(reshape7, rowInputs_0_1, cosine/all, sine/all)",
      "reshape9 = reshape(matmul5) shape=[R,1,1,2]",
      "rotary10 = rotary(reshape9, rowInputs_0_1, cosine/all, sine/all)",
      "reshape11 = reshape(matmul6) shape=[R,1,1,2]",
      "reshape12 = reshape(rotary10) shape=[R,1,2,1]",
      "newKeys0 = scatterLast(Keys0, rowInputs_0_4, reshape12)",
      "reshape14 = reshape(reshape11) shape=[R,1,2,1]",
      "newValues0 = scatterLast(Values0, rowInputs_0_4, reshape14)",
      "columnAttention16 = columnAttention(rotary8, newKeys0, newValues0, rowInputs_0_3) scale=0.7071067811865475",
      "reshape17 = reshape(columnAttention16) shape=[R,1,4]",
      "matmul18 = matmul(reshape17, self_attn.o_proj.weight) transB=true",
      "add19 = add(gather1, matmul18)",
      "rmsNormalise20, rmsNormalise_20_1 = rmsNormalise(add19) epsilon=0.5",
      "mul21 = mul(rmsNormalise20, post_attention_layernorm.weight)",
      "matmul22 = matmul(mul21, mlp.gate_proj.weight) transB=true",
      "matmul23 = matmul(mul21, mlp.up_proj.weight) transB=true",
      "silu24 = silu(matmul22)",
      "mul25 = mul(silu24, matmul23)",
      "matmul26 = matmul(mul25, mlp.down_proj.weight) transB=true",
      "add27 = add(add19, matmul26)",
      "rmsNormalise28, rmsNormalise_28_1 = rmsNormalise(add27) epsilon=0.5",
      "reshape29 = reshape(rmsNormalise28) shape=[R,4]",
      "mul30 = mul(reshape29, model.norm.weight)",
      "logits = matmul(mul30, model.embed_tokens.weight) transB=true",
      "mul32 = mul(logits, rowInputs_0_6)",
      "probabilities = softmax(mul32)",
      "drawTokens34, drawTokens_34_1, drawTokens_34_2 = drawTokens(probabilities, rowInputs_0_5, rowInputs_0_7)",
      "logSoftmax35 = logSoftmax(mul32)",
      "mul36 = mul(probabilities, logSoftmax35)",
      "sum37 = sum(mul36) axes=[1] keepDims=true",
      "neg38 = neg(sum37)",
      "logSoftmax39 = logSoftmax(logits)",
      "pick40 = pick(logSoftmax39, drawTokens_34_1)",
      "concat41 = concat(drawTokens34, drawTokens_34_2, pick40, neg38) axis=1",
      "drawn = identity(concat41)",
    ],
    outputs: ["newKeys0[R, 1, 2, S]", "newValues0[R, 1, 2, S]", "logits[R, 6]", "probabilities[R, 6]", "drawn[R, 4]"],
  });
  expect([taken, given]).toEqual([5, 4]);
});

test("layers without a window see all of their slots", () => {
  const masks = (layerTypes: ModelConfig["layerTypes"]) => {
    const { nodes } = decodeGraph({ ...config, layers: 2, layerTypes }, parameterShapes({ ...config, layers: 2 }));
    return nodes.filter(({ op }) => op === "columnAttention").map(({ inputs }) => inputs[3].name);
  };
  const [all, narrow] = ["rowInputs_0_2", "rowInputs_0_3"];
  expect([masks(["full", "sliding"]), masks(undefined)].flat()).toEqual([all, narrow, all, all]);
});
