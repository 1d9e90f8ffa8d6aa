import { expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import { Graph } from "./graph.ts";
import { Session } from "./session.ts";

const rows = 64;

/** Draws by the graph, of distributions [rows, V]. */
async function draw(vocabulary: number, probabilities: Float32Array, uniforms: Float32Array, greedy: Float32Array) {
  const g = new Graph();
  const inputs = [g.input("p", ["R", vocabulary]), g.input("u", ["R", 1]), g.input("g", ["R", 1])];
  const [tokens, , chosen] = g.apply("drawTokens", inputs, {});
  g.output("tokens", tokens);
  g.output("chosen", chosen);
  const session = await Session.open(g, { threads: 1, fewNodes: true });
  const column = (data: Float32Array) => ({ data, shape: [rows, 1] });
  const feeds = { p: { data: probabilities, shape: [rows, vocabulary] }, u: column(uniforms), g: column(greedy) };
  const outputs = await session.run(feeds, ["tokens", "chosen"]);
  await session.close();
  return outputs;
}

/** Rows that sum to 1 up to rounding, most of whose tokens are impossible in some, at their ends too. */
function distributions(vocabulary: number): Float32Array {
  const random = randomStream(1, "distributions", vocabulary);
  const all = new Float32Array(rows * vocabulary);
  for (let row = 0; row < rows; row++) {
    const possible = [1, 0.5, 0.01][row % 3];
    const line = Float64Array.from({ length: vocabulary }, () => (random.uniform() < possible ? random.uniform() ** 8 : 0));
    line[random.integer(vocabulary)] = 0.1;
    if (row % 2 === 0) line.fill(0, vocabulary >> 1).fill(0.2, row % 7, (row % 7) + 1);
    const sum = line.reduce((a, b) => a + b);
    all.set(
      line.map((x) => x / sum),
      row * vocabulary,
    );
  }
  return all;
}

// Divided by a number near the root, and not.
test.each([49_152, 997, 1024, 61, 16])(
  "of %i tokens the one is drawn whose share of the distribution the number falls into",
  async (vocabulary) => {
    const probabilities = distributions(vocabulary);
    const random = randomStream(2, "uniforms");
    const edges = [0, 1 - 2 ** -24, 1 - 2 ** -12, 1e-30];
    const uniforms = Float32Array.from({ length: rows }, (_, row) => edges[row] ?? random.uniform() * (1 - 2 ** -20));
    const { tokens, chosen } = await draw(vocabulary, probabilities, uniforms, new Float32Array(rows));
    for (let row = 0; row < rows; row++) {
      const line = probabilities.subarray(row * vocabulary, (row + 1) * vocabulary);
      const token = tokens[row];
      expect(line[token]).toBeGreaterThan(0);
      expect(chosen[row]).toBe(line[token]);
      const before = line.subarray(0, token).reduce((a, b) => a + b, 0);
      // Sums of float32 in blocks, and not of float64 one by one.
      expect(uniforms[row]).toBeGreaterThan(before - 1e-5);
      expect(uniforms[row]).toBeLessThan(before + line[token] + 1e-5);
    }
  },
);

test("where it is greedy, the first of the most probable tokens", async () => {
  const vocabulary = 300;
  const probabilities = distributions(vocabulary);
  const firsts = Array.from({ length: rows }, (_, row) => {
    const line = probabilities.subarray(row * vocabulary, (row + 1) * vocabulary);
    const best = line.indexOf(Math.max(...line));
    line[Math.max(best, vocabulary - 1 - row)] = line[best]; // the same again, behind it
    return best;
  });
  const { tokens } = await draw(vocabulary, probabilities, new Float32Array(rows), new Float32Array(rows).fill(1));
  expect(Array.from(tokens)).toEqual(firsts);
});
