import { expect, test } from "vitest";
import { Graph } from "../graph/graph.ts";
import { serialise } from "../graph/onnx.ts";
import { zerosOf } from "../model/arrays.ts";
import { numbersInTurn, Turns } from "./turns.ts";

/** Turns of the event loop while work is done. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let [turns, ended] = [0, false];
  void work().then(() => (ended = true));
  for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
  return turns;
}

test("the event loop turns between arrays that are allocated, and while a graph is written", async () => {
  const arrays = (count: number, length: number) => Array.from({ length: count }, (_, i) => [`${i}`, length] as const);
  expect(await turnsOf(() => zerosOf(arrays(8, numbersInTurn)))).toBeGreaterThanOrEqual(8);
  expect(await turnsOf(() => zerosOf(arrays(8, 100)))).toBeLessThanOrEqual(1);
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [2])));
  expect(await turnsOf(() => serialise(graph))).toBeGreaterThanOrEqual(3); // operators, nodes, bytes
});

test("pieces follow each other, small arrays share a turn, and no turn has more numbers than there are for one", async () => {
  let turns = 0;
  let counting = true;
  const count = () => {
    turns++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const pieces: [number, number][] = [];
  const work = new Turns();
  await work.over(3 * numbersInTurn + 5, (from, to) => pieces.push([from, to]), 4);
  const ofLarge = turns;
  expect(ofLarge).toBeGreaterThanOrEqual(3);
  for (let i = 0; i < 50; i++) await work.over(10, () => {});
  expect(turns).toBe(ofLarge);
  counting = false;
  pieces.forEach(([from, to], i) => {
    expect(from).toBe(pieces[i - 1]?.[1] ?? 0);
    expect(to - from).toBeLessThanOrEqual(numbersInTurn);
    expect(from % 4).toBe(0);
  });
  expect(pieces.at(-1)?.[1]).toBe(3 * numbersInTurn + 5);
});
