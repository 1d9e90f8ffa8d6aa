import { misfit, type Operator, unseen } from "./operator.ts";
import { product } from "./products.ts";
import type { Tensor } from "./tensor.ts";

/** Numbers of element types in onnx.proto. */
const [float32, int32, int64] = [1, 6, 7];

/**
 * x with updates [..., U] at the indices of the last axis that ids [..., U] name; both may have less of the other axes than x. Where x and the result
 * are bound to one tensor, that is written in place.
 */
export const scatterLast: Operator<object> = {
  infer: ([x]) => [{ shape: x.shape, type: x.type }],
  lower: (to, [x, ids, updates], [out]) =>
    to.node("ScatterElements", [x.name, ids.name, updates.name], { axis: { int: x.shape.length - 1 } }, out.name),
};

/**
 * Takes apart what a step is given of each row, step [R, 5]: its token, position, uniform number, inverse temperature, and 1 where it is greedy, else 0. Gives tokens
 * [R, 1], positions [R, 1], what tokens see of the slots in range [S] as masks [R, 1, 1, S] (without and with a window), the column of each that its
 * keys go to as indices [R, heads, size, 1], and the last three numbers [R, 1].
 */
export const rowInputs: Operator<{ heads: number; size: number; window?: number }> = {
  infer: ([step, range], { heads, size }) => {
    const [rows, mask] = [step.shape[0], [step.shape[0], 1, 1, range.shape[0]]];
    const float = (shape: Tensor["shape"]) => ({ shape, type: "float32" as const });
    return [
      ...[{ shape: [rows, 1], type: "int32" as const }, { shape: [rows, 1], type: "int64" as const }, float(mask), float(mask)],
      ...[{ shape: [rows, heads, size, 1], type: "int32" as const }, float([rows, 1]), float([rows, 1]), float([rows, 1])],
    ];
  },
  lower: (to, [step, range], [tokens, positions, mask, narrow, columns, uniforms, temperatures, greedy], options) => {
    const [token, position] = [to.temporary(), to.temporary()];
    const parts = [token, position, uniforms.name, temperatures.name, greedy.name];
    to.emit({
      type: "Split",
      inputs: [step.name, to.integers([1, 1, 1, 1, 1])],
      outputs: parts,
      attributes: { axis: { int: 1 } },
    });
    to.node("Cast", [token], { to: { int: int32 } }, tokens.name);
    to.node("Cast", [position], { to: { int: int64 } }, positions.name);
    const apart = to.node("Reshape", [position, to.integers([-1, 1, 1, 1])]);
    const column = to.node("Cast", [apart], { to: { int: int32 } });
    to.node("Expand", [column, to.integers([1, options.heads, options.size, 1])], undefined, columns.name);
    const [zero, hidden] = [0, unseen].map(to.number);
    const slots = to.node("Reshape", [range.name, to.integers([1, 1, 1, -1])]);
    const before = to.node("LessOrEqual", [slots, apart]);
    to.node("Where", [before, zero, hidden], undefined, mask.name);
    if (options.window === undefined) return;
    const first = to.node("Sub", [apart, to.number(options.window)]);
    const inside = to.node("And", [before, to.node("Greater", [slots, first])]);
    to.node("Where", [inside, zero, hidden], undefined, narrow.name);
  },
};

/**
 * Attention of one token a row, q [R, H, 1, size], to keys and values [R, Hk, size, S]: as columns, so that a new one is written by one scatter. Mask
 * [R, 1, 1, S]. Heads that share keys are one product.
 */
export const columnAttention: Operator<{ scale: number }> = {
  infer: ([q]) => [{ shape: q.shape, type: "float32" }],
  lower: (to, [q, k, v, mask], [out], { scale }) => {
    const [heads, kvHeads, size] = [Number(q.shape[1]), Number(k.shape[1]), Number(k.shape[2])];
    if (heads % kvHeads !== 0 || q.shape[2] !== 1) throw misfit("columnAttention", [q, k]);
    const isFused = to.has("FusedMatMul");
    const scaled = isFused ? q.name : to.node("Mul", [q.name, to.number(scale)]);
    const queries = to.node("Reshape", [scaled, to.integers([0, kvHeads, heads / kvHeads, size])]);
    const found = product(to, [queries, 4], [k.name, 4], { alpha: isFused ? scale : 1, exact: true });
    const probabilities = to.node("Softmax", [to.node("Add", [found, mask.name])], { axis: { int: -1 } });
    // Where a transposed factor would be a copy of the cache, the small one is transposed, and the product.
    const perm = { perm: { ints: [0, 1, 3, 2] } };
    const mixed = isFused
      ? product(to, [probabilities, 4], [v.name, 4], { transB: true, exact: true })
      : to.node("Transpose", [to.node("MatMul", [v.name, to.node("Transpose", [probabilities], perm)])], perm);
    to.node("Reshape", [mixed, to.integers([0, heads, 1, size])], undefined, out.name);
  },
};

/** Rounding may leave a sum below the number that is drawn: the last possible token is meant then. */
const justBelow = 1 - 2 ** -23;

/**
 * Inverts the cumulative distribution of probabilities [R, V] at uniform numbers [R, 1]: the first token whose cumulative probability is above its
 * number, or the most probable where greedy [R, 1] is 1 (its number has to be 0). In two levels, blocks of tokens and one block's tokens, since a
 * running sum over all of V is quadratic on GPUs. Gives the tokens as numbers [R, 1] and as ids, and their probabilities [R, 1].
 */
export const drawTokens: Operator<object> = {
  infer: ([probabilities]) => {
    const shape = [probabilities.shape[0], 1];
    return [
      { shape, type: "float32" },
      { shape, type: "int32" },
      { shape, type: "float32" },
    ];
  },
  lower: (to, [probabilities, uniforms, greedy], [tokens, ids, chosen]) => {
    const vocabulary = Number(probabilities.shape[1]);
    const { blocks, size } = blocksOf(vocabulary);
    const filling = blocks * size - vocabulary;
    const at = (values: string, index: string) => to.node("GatherElements", [values, index], { axis: { int: 1 } });
    const cast = (value: string, type: number) => to.node("Cast", [value], { to: { int: type } });
    // Where greedy, all mass is on the most probable tokens, the first of which is above the number 0.
    const peaks = to.node("ReduceMax", [probabilities.name, to.integers([1])]);
    const peaked = cast(to.node("GreaterOrEqual", [probabilities.name, peaks]), float32);
    const from = to.node("Where", [to.node("Greater", [greedy.name, to.number(0.5)]), peaked, probabilities.name]);
    const all = filling === 0 ? from : to.node("Pad", [from, to.integers([0, 0, 0, filling])]);
    const apart = to.node("Reshape", [all, to.integers([-1, blocks, size])]);
    /** Where running sums [R, N] first exceed a limit [R, 1], which stays below the last of them. */
    const firstAbove = (sums: string, limit: string, count: number) => {
      const slice = [to.integers([count - 1]), to.integers([count]), to.integers([1])];
      const last = to.node("Mul", [to.node("Slice", [sums, ...slice]), to.number(justBelow)]);
      const below = to.node("Min", [limit, last]);
      const passed = cast(to.node("LessOrEqual", [sums, below]), float32);
      return { limit: below, index: to.node("ReduceSum", [passed, to.integers([1])]) };
    };
    const sums = to.node("ReduceSum", [apart, to.integers([2])], { keepdims: { int: 0 } });
    const running = (values: string, exclusive = 0) =>
      to.node("CumSum", [values, to.integers([1])], { exclusive: { int: exclusive } });
    const block = firstAbove(running(sums), uniforms.name, blocks);
    const blockId = cast(block.index, int32);
    const rest = to.node("Max", [to.node("Sub", [block.limit, at(running(sums, 1), blockId)]), to.number(0)]);
    const everyOf = to.node("Expand", [to.node("Reshape", [blockId, to.integers([-1, 1, 1])]), to.integers([1, 1, size])]);
    const inside = to.node("Reshape", [at(apart, everyOf), to.integers([-1, size])]);
    const within = firstAbove(running(inside), rest, size);
    to.node("Add", [to.node("Mul", [block.index, to.number(size)]), within.index], undefined, tokens.name);
    to.node("Cast", [tokens.name], { to: { int: int32 } }, ids.name);
    to.node("GatherElements", [probabilities.name, ids.name], { axis: { int: 1 } }, chosen.name);
  },
};

/** Blocks of about as many tokens as there are blocks; a last one that is filled up only where no such number divides the vocabulary. */
function blocksOf(vocabulary: number): { readonly blocks: number; readonly size: number } {
  const root = Math.sqrt(vocabulary);
  for (let size = Math.ceil(root); size <= 2 * root; size++)
    if (vocabulary % size === 0) return { size, blocks: vocabulary / size };
  const size = Math.ceil(root);
  return { size, blocks: Math.ceil(vocabulary / size) };
}

/** x [R, V] at the columns that ids [R, 1] name. */
export const pick: Operator<object> = {
  infer: ([x, ids]) => [{ shape: ids.shape, type: x.type }],
  lower: (to, [x, ids], [out]) => to.node("GatherElements", [x.name, ids.name], { axis: { int: 1 } }, out.name),
};

/** Zeros of a shape, of the sizes that an int64 vector says. */
export const zeros: Operator<{ shape: Tensor["shape"] }> = {
  infer: (_, { shape }) => [{ shape, type: "float32" }],
  lower: (to, [sizes], [out]) => to.node("Expand", [to.number(0), sizes.name], {}, out.name),
};
