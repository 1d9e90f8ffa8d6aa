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

test("numbers are counted until a turn is full, and then from the start", () => {
  const turns = new Turns(10);
  expect([4, 5, 1, 9, 1, 25, 9].map((numbers) => turns.isOver(numbers))).toEqual([
    ...[false, false, true, false, true, true, false],
  ]);
  const copies = Turns.ofCopies();
  expect([copies.isOver(2 ** 22 - 1), copies.isOver(1)]).toEqual([false, true]);
  const usual = new Turns();
  expect([usual.isOver(2 ** 19 - 1), usual.isOver(1)]).toEqual([false, true]);
});

test("pieces are what is left of a turn, in whole units", async () => {
  const pieces = async (count: number, unit?: number, before = 0) => {
    const turns = new Turns(10);
    turns.isOver(before);
    const made: string[] = [];
    await turns.over(count, (from, to) => made.push(`${from}-${to}`), unit);
    return made.join(" ");
  };
  expect(await pieces(25)).toBe("0-10 10-20 20-25");
  expect(await pieces(25, 4)).toBe("0-8 8-12 12-20 20-24 24-25");
  expect(await pieces(12, 1, 7)).toBe("0-3 3-12");
  expect(await pieces(30, 12)).toBe("0-12 12-24 24-30");
  expect(await pieces(0)).toBe("");
});
