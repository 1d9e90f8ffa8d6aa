import { HttpError } from "../../extensions/http/http-error.ts";

/** Small tensors with gradients, for the losses of clients: numbers of one datum, row by row. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: readonly number[];
  /** Adds to the gradients of the tensors that this one was made of. Undefined for a leaf. */
  readonly back?: (slopes: readonly number[], add: (of: Tensor, at: number, slope: number) => void) => void;
  /** The tensors that it was made of. */
  readonly from: readonly Tensor[];
}
/** Dimensions; undefined for all of them. */
export type Dims = readonly number[] | undefined;

/** @throws HttpError (422) if the numbers do not fill the shape */
export function tensor(data: readonly number[], shape: readonly number[]): Tensor {
  if (sizeOf(shape) !== data.length)
    throw new HttpError(422, "input of a custom loss", `${data.length} numbers`, { expected: `the shape [${shape.join(", ")}]` });
  return { data, shape, from: [] };
}
export const constant = (value: number): Tensor => ({ data: [value], shape: [], from: [] });
/** The same numbers without a gradient. */
export const derived = ({ data, shape }: Tensor): Tensor => ({ data, shape, from: [] });

const sizeOf = (shape: readonly number[]) => shape.reduce((product, each) => product * each, 1);

/** One number of each tensor. */
type NumberOfEach<From extends readonly Tensor[]> = { readonly [K in keyof From]: number };

/** Computes a function of the numbers at each place, with broadcasting as torch has it. @param slopes ∂value/∂each number */
export function elementwise<const From extends readonly Tensor[]>(
  from: From,
  value: (numbers: NumberOfEach<From>) => number,
  slopes: (numbers: NumberOfEach<From>, value: number) => readonly number[],
): Tensor {
  const shape = from.reduce<readonly number[]>((wide, each) => broadcast(wide, each.shape), []);
  const places = from.map((each) => placesIn(each.shape, shape));
  const numbersAt = (i: number) => from.map(({ data }, k) => data[places[k][i]]) as NumberOfEach<From>;
  const data = Array.from({ length: sizeOf(shape) }, (_, i) => value(numbersAt(i)));
  return {
    ...{ data, shape, from },
    back: (above, add) => {
      for (let i = 0; i < data.length; i++)
        slopes(numbersAt(i), data[i]).forEach((slope, k) => {
          if (slope !== 0) add(from[k], places[k][i], slope * above[i]);
        });
    },
  };
}

/** A sum or an extreme over dimensions. The gradient of an extreme is shared among equal ones. */
export function reduce(x: Tensor, how: "sum" | "max" | "min", dims: Dims, keep: boolean): Tensor {
  const rank = x.shape.length;
  const gone = new Set((dims ?? x.shape.map((_, d) => d)).map((d) => dimension(d, rank)));
  const kept = x.shape.map((size, d) => (gone.has(d) ? 1 : size));
  const places = placesIn(kept, x.shape);
  const data = new Array<number>(sizeOf(kept)).fill(
    how === "sum" ? 0 : how === "max" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY,
  );
  const join = how === "sum" ? (a: number, b: number) => a + b : how === "max" ? Math.max : Math.min;
  x.data.forEach((value, i) => {
    data[places[i]] = join(data[places[i]], value);
  });
  const shares = x.data.map((value, i) => Number(how === "sum" || value === data[places[i]]));
  const counts = new Array<number>(data.length).fill(0);
  shares.forEach((share, i) => {
    counts[places[i]] += share;
  });
  return {
    ...{ data, shape: keep ? kept : x.shape.filter((_, d) => !gone.has(d)), from: [x] },
    back: (above, add) =>
      shares.forEach((share, i) => {
        add(x, i, (share * above[places[i]]) / (how === "sum" ? 1 : counts[places[i]]));
      }),
  };
}

/** Takes numbers and slices (start, stop, step) of the first dimensions. @throws HttpError (422) for others */
export function index(x: Tensor, parts: readonly (number | readonly (number | null)[])[]): Tensor {
  if (parts.length > x.shape.length) throw refused(`${parts.length} indices of a tensor of ${x.shape.length} dimensions`);
  const chosen = x.shape.map((size, d) => {
    const part = parts[d] ?? [null, null, null];
    if (typeof part === "number") {
      const at = part < 0 ? part + size : part;
      if (!(at >= 0 && at < size)) throw refused(`the index ${part} of ${size}`);
      return [at];
    }
    const [start, stop, step] = part;
    if ((step ?? 1) !== 1) throw refused(`a slice with the step ${step}`);
    const bound = (at: number) => Math.min(Math.max(at < 0 ? at + size : at, 0), size);
    const [from, to] = [bound(start ?? 0), bound(stop ?? size)];
    return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
  });
  const places = chosen.reduce<number[]>((rows, at, d) => rows.flatMap((row) => at.map((i) => row * x.shape[d] + i)), [0]);
  return {
    data: places.map((place) => x.data[place]),
    shape: chosen.flatMap((at, d) => (typeof parts[d] === "number" ? [] : [at.length])),
    from: [x],
    back: (above, add) => {
      for (const [i, place] of places.entries()) add(x, place, above[i]);
    },
  };
}

/** ∂scalar/∂leaf, by going back through what the scalar was made of. */
export function backward(scalar: Tensor, leaf: Tensor): number[] {
  const order: Tensor[] = [];
  const seen = new Set<Tensor>();
  // Without recursion: a trace may be thousands of operations deep.
  const stack: [Tensor, number][] = [[scalar, 0]];
  while (stack.length > 0) {
    const [node, next] = stack.pop() as [Tensor, number];
    if (next === 0 && seen.has(node)) continue;
    seen.add(node);
    if (next < node.from.length) stack.push([node, next + 1], [node.from[next], 0]);
    else order.push(node);
  }
  const slopes = new Map<Tensor, number[]>([[scalar, [1]]]);
  const add = (of: Tensor, at: number, slope: number) => {
    const row = slopes.get(of) ?? new Array<number>(of.data.length).fill(0);
    row[at] += slope;
    slopes.set(of, row);
  };
  for (const node of order.reverse()) {
    const above = slopes.get(node);
    if (above !== undefined) node.back?.(above, add);
  }
  return slopes.get(leaf) ?? new Array<number>(leaf.data.length).fill(0);
}

function dimension(d: number, rank: number): number {
  const at = d < 0 ? d + rank : d;
  if (at >= 0 && at < Math.max(rank, 1)) return at;
  throw refused(`the dimension ${d} of ${rank}`);
}

/** @throws HttpError (422) if the shapes do not fit */
function broadcast(a: readonly number[], b: readonly number[]): number[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
    const [x, y] = [a.at(i - Math.max(a.length, b.length)) ?? 1, b.at(i - Math.max(a.length, b.length)) ?? 1];
    if (x === y || y === 1) return x;
    if (x === 1) return y;
    throw refused(`the shapes [${a.join(", ")}] and [${b.join(", ")}]`);
  });
}

/** Where each number of a wide shape is in a narrow one that is broadcast to it. */
function placesIn(narrow: readonly number[], wide: readonly number[]): number[] {
  const lead = wide.length - narrow.length;
  return Array.from({ length: sizeOf(wide) }, (_, flat) => {
    let [rest, place, stride] = [flat, 0, 1];
    for (let d = wide.length - 1; d >= lead; d--) {
      const at = rest % wide[d];
      rest = Math.floor(rest / wide[d]);
      if (narrow[d - lead] !== 1) place += at * stride;
      stride *= narrow[d - lead];
    }
    return place;
  });
}

const refused = (what: string) => new HttpError(422, "custom loss", what, { expected: "shapes that torch takes" });
