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
  add(a: Tensor, b: Tensor): Tensor {
    return this.apply("add", [a, b], {})[0];
  }
  sub(a: Tensor, b: Tensor): Tensor {
    return this.apply("sub", [a, b], {})[0];
  }
  mul(a: Tensor, b: Tensor): Tensor {
    return this.apply("mul", [a, b], {})[0];
  }
  div(a: Tensor, b: Tensor): Tensor {
    return this.apply("div", [a, b], {})[0];
  }
  sqrt(x: Tensor): Tensor {
    return this.apply("sqrt", [x], {})[0];
  }
  /** max(x, 0) */
  relu(x: Tensor): Tensor {
    return this.apply("relu", [x], {})[0];
  }
  neg(x: Tensor): Tensor {
    return this.apply("neg", [x], {})[0];
  }
  exp(x: Tensor): Tensor {
    return this.apply("exp", [x], {})[0];
  }
  sigmoid(x: Tensor): Tensor {
    return this.apply("sigmoid", [x], {})[0];
  }
  /** x · sigmoid(x) */
  silu(x: Tensor): Tensor {
    return this.apply("silu", [x], {})[0];
  }
  /** x · ½(1 + tanh(√(2/π)·(x + 0.044715·x³))) */
  gelu(x: Tensor): Tensor {
    return this.apply("gelu", [x], {})[0];
  }
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
  gather(table: Tensor, ids: Tensor): Tensor {
    return this.apply("gather", [table, ids], {})[0];
  }
  /** Softmax over the last axis. */
  softmax(x: Tensor): Tensor {
    return this.apply("softmax", [x], {})[0];
  }
  /** x / sqrt(mean(x²) + ε) over the last axis, without a weight. */
  rmsNormalise(x: Tensor, epsilon: number): Tensor {
    return this.apply("rmsNormalise", [x], { epsilon })[0];
  }
  /** Rotates pairs (x_i, x_{i+half}) of [B, heads, T, size] by the angles of each token's position; tables are [positions, half]. */
  rotary(x: Tensor, positions: Tensor, cosine: Tensor, sine: Tensor): Tensor {
    return this.apply("rotary", [x, positions, cosine, sine], {})[0];
  }
  /** softmax(scale · q·kᵀ + mask) · v with grouped heads: q [B, H, T, size], k and v [B, Hk, S, size], mask [B, 1, T, S]. */
  attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: number): Tensor {
    return this.apply("attention", [q, k, v, mask], { scale })[0];
  }
  /** softmax(scale · q·kᵀ + mask), the probabilities [B, H, T, S] of `attention`; not differentiated. */
  attentionProbabilities(q: Tensor, k: Tensor, mask: Tensor, scale: number): Tensor {
    return this.apply("attentionProbabilities", [q, k, mask], { scale })[0];
  }
  /** log softmax(logits)[target]: logits [M, V] and targets [M, 1] give [M, 1]. */
  selectLogprobs(logits: Tensor, targets: Tensor): Tensor {
    return this.apply("selectLogprobs", [logits, targets], {})[0];
  }
  /** Entropy in nats of softmax(logits): [M, V] give [M, 1]. */
  entropy(logits: Tensor): Tensor {
    return this.apply("entropy", [logits], {})[0];
  }
}
