import { randomStream } from "../../../core/random.ts";
import { defineTaskSampler } from "./sampler.ts";

const indexBound = 2 ** 31;

/** From this size on a split is drawn from like one without end: an order of all its tasks would fill the memory. */
const orderedTasks = 2 ** 24;

/**
 * Goes through a split in a new order each time. One without end is drawn from at random. Position and seed decide alone, so a resumed run
 * continues with the task that was next.
 */
export const epochsSampler = defineTaskSampler({
  kind: "epochs",
  formula: "every task once, in a new order each time",
  source: "common",
  needsOutcomes: false,
  settings: {},
  indices: ({ size, position, count, seed }) => {
    const positions = Array.from({ length: count }, (_, i) => position + i);
    if (size > orderedTasks) return positions.map((at) => randomStream(seed, "task", at).integer(Math.min(size, indexBound)));
    const orders = new Map<number, readonly number[]>();
    const orderOf = (epoch: number) => {
      const order = orders.get(epoch) ?? randomStream(seed, "epoch", epoch).shuffle(Array.from({ length: size }, (_, i) => i));
      orders.set(epoch, order);
      return order;
    };
    return positions.map((at) => orderOf(Math.floor(at / size))[at % size] ?? 0);
  },
});
