/** Tokens that a convolution adds up for each token, and its weights. */
export interface Convolution {
  /** [N]: the token before each on its path; -1 where the path begins. */
  readonly parents: Int32Array;
  /** [R]: the tokens that it is computed for. */
  readonly queries: Int32Array;
  /** [D, L], the weight of the token itself last. */
  readonly weight: Float32Array;
  /** L */
  readonly kernel: number;
}

/**
 * o = c ∘ Σ_d w_d ∘ u[the d-th token back on the path], channel by channel: few numbers, so that no graph is needed.
 * @param c [R, D] @param u [N, D] @param o [R, D]: where the results go
 */
export function convolve(convolution: Convolution, c: Float32Array, u: Float32Array, o: Float32Array): void {
  const { weight, kernel } = convolution;
  const size = weight.length / kernel;
  o.fill(0);
  forEachTerm(convolution, (query, token, column) => {
    const [to, from] = [query * size, token * size];
    for (let i = 0; i < size; i++) o[to + i] += weight[i * kernel + column] * u[from + i];
  });
  for (let i = 0; i < o.length; i++) o[i] *= c[i];
}

/**
 * @param of o's gradient, and where those of c and u go; that of the weights is added to, if it is wanted
 */
export function convolveBackward(
  convolution: Convolution,
  c: Float32Array,
  u: Float32Array,
  of: { readonly o: Float32Array; readonly c: Float32Array; readonly u: Float32Array; readonly weight: Float32Array | undefined },
): void {
  const { weight, kernel } = convolution;
  const size = weight.length / kernel;
  of.c.fill(0);
  of.u.fill(0);
  forEachTerm(convolution, (query, token, column) => {
    const [at, from] = [query * size, token * size];
    for (let i = 0; i < size; i++) {
      const upstream = of.o[at + i];
      const ofSum = upstream * c[at + i];
      of.c[at + i] += upstream * weight[i * kernel + column] * u[from + i];
      of.u[from + i] += ofSum * weight[i * kernel + column];
      if (of.weight !== undefined) of.weight[i * kernel + column] += ofSum * u[from + i];
    }
  });
}

function forEachTerm(
  { parents, queries, kernel }: Convolution,
  visit: (query: number, token: number, column: number) => void,
): void {
  queries.forEach((first, query) => {
    let token = first;
    for (let column = kernel - 1; column >= 0 && token >= 0; column--) {
      visit(query, token, column);
      token = parents[token];
    }
  });
}
