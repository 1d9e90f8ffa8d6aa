import { ShapeError } from "../../../src/core/errors.ts";
import { type Attributes, type OpName, ops } from "./ops.ts";
import type { Dim, DType, Tensor } from "./tensor.ts";

export interface Node<O extends OpName = OpName> {
  readonly op: O;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly attributes: Attributes[O];
}

export interface Constant {
  readonly tensor: Tensor;
  readonly data: Float32Array | Int32Array | BigInt64Array | Int8Array | Uint8Array;
}

export function typeOfArray(data: Constant["data"]): DType {
  if (data instanceof Float32Array) return "float32";
  if (data instanceof Int32Array) return "int32";
  if (data instanceof Int8Array) return "int8";
  return data instanceof Uint8Array ? "uint8" : "int64";
}

type PlainOp = { [O in OpName]: object extends Attributes[O] ? O : never }[OpName];

/**
 * A tensor graph under construction. Nodes have the order in which they run. Building never computes anything:
 * `differentiate` adds a backward half, `serialise` writes the whole as ONNX.
 */
export class Graph {
  readonly nodes: Node[] = [];
  readonly inputs: Tensor[] = [];
  readonly constants: Constant[] = [];
  readonly outputs: Tensor[] = [];
  private count = 0;

  input(name: string, shape: readonly Dim[], type: DType = "float32"): Tensor {
    const tensor = { name, shape, type };
    this.inputs.push(tensor);
    return tensor;
  }

  constant(data: Constant["data"], shape: readonly number[], name = `constant_${this.count++}`): Tensor {
    const type = typeOfArray(data);
    if (shape.reduce((a, b) => a * b, 1) !== data.length) {
      throw new ShapeError(`constant ${name}`, shape, { expected: `a shape of ${data.length} elements` });
    }
    const tensor: Tensor = { name, shape, type };
    this.constants.push({ tensor, data });
    return tensor;
  }

  /** Has an input no longer, where nothing reads it or a constant takes its place. */
  dropInput(name: string): void {
    this.inputs.splice(
      this.inputs.findIndex((input) => input.name === name),
      1,
    );
  }

  scalar(value: number): Tensor {
    return this.constant(Float32Array.of(value), [1]);
  }

  /** Adds a node and returns all that it makes. */
  apply<O extends OpName>(op: O, inputs: readonly Tensor[], attributes: Attributes[O]): readonly Tensor[] {
    const id = this.count++;
    const outputs = ops[op].infer(inputs, attributes).map(({ shape, type }, i) => ({ name: `${op}_${id}_${i}`, shape, type }));
    this.nodes.push({ op, inputs, outputs, attributes } as Node);
    return outputs;
  }

  /** Gives a value a name to fetch it by. */
  output(name: string, tensor: Tensor): void {
    const renamed = this.apply("identity", [tensor], {})[0];
    const node = this.nodes[this.nodes.length - 1];
    const output = { ...renamed, name };
    this.nodes[this.nodes.length - 1] = { ...node, outputs: [output] };
    this.outputs.push(output);
  }

  /** Gives what the last node made the name to fetch it by, where `output` might copy it. @returns it, for further use */
  outputLast(name: string): Tensor {
    const node = this.nodes[this.nodes.length - 1];
    const output = { ...node.outputs[0], name };
    this.nodes[this.nodes.length - 1] = { ...node, outputs: [output, ...node.outputs.slice(1)] };
    this.outputs.push(output);
    return output;
  }

  /** α · a·b over the last two axes, either transposed first; the leading axes must agree, or b has none. */
  matmul(a: Tensor, b: Tensor, { transA = false, transB = false, alpha = 1, exact = false } = {}): Tensor {
    return this.apply("matmul", [a, b], { transA, transB, alpha, exact })[0];
  }

  /** An operator without attributes that makes one value for the graph's builder. */
  private plain<Operands extends readonly Tensor[]>(op: PlainOp): (...operands: Operands) => Tensor {
    return (...operands) => this.apply(op, operands, {})[0];
  }
  readonly add = this.plain<[a: Tensor, b: Tensor]>("add");
  readonly sub = this.plain<[a: Tensor, b: Tensor]>("sub");
  readonly mul = this.plain<[a: Tensor, b: Tensor]>("mul");
  readonly div = this.plain<[a: Tensor, b: Tensor]>("div");
  readonly sqrt = this.plain<[x: Tensor]>("sqrt");
  /** max(x, 0) */
  readonly relu = this.plain<[x: Tensor]>("relu");
  readonly neg = this.plain<[x: Tensor]>("neg");
  readonly exp = this.plain<[x: Tensor]>("exp");
  readonly sigmoid = this.plain<[x: Tensor]>("sigmoid");
  /** x · sigmoid(x) */
  readonly silu = this.plain<[x: Tensor]>("silu");
  /** x · ½(1 + tanh(√(2/π)·(x + 0.044715·x³))) */
  readonly gelu = this.plain<[x: Tensor]>("gelu");
  reshape(x: Tensor, shape: readonly Dim[]): Tensor {
    return this.apply("reshape", [x], { shape })[0];
  }
  transpose(x: Tensor, permutation: readonly number[]): Tensor {
    return this.apply("transpose", [x], { permutation })[0];
  }
  concat(parts: readonly Tensor[], axis: number): Tensor {
    return this.apply("concat", parts, { axis })[0];
  }
  split(x: Tensor, axis: number, sizes: readonly number[]): readonly Tensor[] {
    return this.apply("split", [x], { axis, sizes });
  }
  sum(x: Tensor, axes: readonly number[], keepDims = true): Tensor {
    return this.apply("sum", [x], { axes, keepDims })[0];
  }
  /** Rows of a matrix: [V, D] and ids of any shape S give [...S, D]. */
  readonly gather = this.plain<[table: Tensor, ids: Tensor]>("gather");
  /** Softmax over the last axis. */
  readonly softmax = this.plain<[x: Tensor]>("softmax");
  /** x / sqrt(mean(x²) + ε) over the last axis, without a weight. */
  rmsNormalise(x: Tensor, epsilon: number): Tensor {
    return this.apply("rmsNormalise", [x], { epsilon })[0];
  }
  /** Rotates pairs (x_i, x_{i+half}) of [B, heads, T, size] by the angles of each token's position; tables are [positions, half]. */
  readonly rotary = this.plain<[x: Tensor, positions: Tensor, cosine: Tensor, sine: Tensor]>("rotary");
  /** softmax(scale · q·kᵀ + mask) · v with grouped heads: q [B, H, T, size], k and v [B, Hk, S, size], mask [B, 1, T, S]. */
  attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: number): Tensor {
    return this.apply("attention", [q, k, v, mask], { scale })[0];
  }
  /** softmax(scale · q·kᵀ + mask), the probabilities [B, H, T, S] of `attention`; not differentiated. */
  attentionProbabilities(q: Tensor, k: Tensor, mask: Tensor, scale: number): Tensor {
    return this.apply("attentionProbabilities", [q, k, mask], { scale })[0];
  }
  /** log softmax(logits)[target]: logits [M, V] and targets [M, 1] give [M, 1]. */
  readonly selectLogprobs = this.plain<[logits: Tensor, targets: Tensor]>("selectLogprobs");
  /** Entropy in nats of softmax(logits): [M, V] give [M, 1]. */
  readonly entropy = this.plain<[logits: Tensor]>("entropy");
}
