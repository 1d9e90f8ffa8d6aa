/**
 * Prints the tasks of the demonstration with SmolLM2 as JSON, each with its problem and the number that solves it, for a peer to train on:
 * npx jiti research/bench/demo-tasks.ts > tasks.json (then research/bench/peers/demo.py).
 */
import { calculationEnvironment } from "../../extensions/demo/environments.ts";

const environment = calculationEnvironment();
const sizes = { train: 384, test: 160, challenge: 160 };
const splits = Object.entries(sizes).map(async ([split, size]) => [
  split,
  await Promise.all(
    Array.from({ length: size }, async (_, i) => {
      const task = await environment.task(split, i);
      return { prompt: task.request.prompt, answer: task.request.answer };
    }),
  ),
]);
console.log(
  JSON.stringify({
    system: "Write the calculation that solves the problem, such as 3 + 4. Nothing else.",
    ...Object.fromEntries(await Promise.all(splits)),
  }),
);
