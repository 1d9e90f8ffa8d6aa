/**
 * A model learns to calculate with Python: an environment whose episodes have the sandboxed interpreter as their tool.
 *
 *   npx jiti examples/python-tool.ts [MODEL FOLDER] [STEPS]
 */
import { createPython, defineEnvironment, train } from "../entries/index.ts"; // In a project of your own: from "retrograde-rl".

const python = createPython({ timeoutMs: 2000, memoryMb: 128 });
const tools = [python.tool];
const calculation = defineEnvironment({
  name: "calculation",
  system: "You answer with a number. Calculate with Python. Tools: python(code).",
  tasks: (random) => {
    const [a, b] = [2 + random.integer(98), 2 + random.integer(98)];
    return { prompt: `What is ${a} times ${b}?`, product: a * b };
  },
  start: ({ product }) => ({ tools, reward: ({ answer }) => (answer.includes(`${product}`) ? 1 : 0) }),
});
const [model = "bundled:office", steps = "20"] = process.argv.slice(2);
const settings = { environment: calculation, model, steps: Number(steps), evaluation: { tasks: 64, k: 2 } };
const { summary } = await train(settings, { print: true });
console.log(`success ${summary.before?.mean.toFixed(2)} → ${summary.after?.mean.toFixed(2)}`);
