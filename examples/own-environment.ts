/**
 * An environment of your own, with one tool, and a model that learns to use it: it makes up when the demo is, until that stops paying.
 *
 *   npx jiti examples/own-environment.ts [MODEL FOLDER] [STEPS]
 */
import { z } from "zod";
import { defineEnvironment, defineTool, train } from "../entries/index.ts"; // In a project of your own: from "retrograde-rl".

const parameters = z.object({ title: z.string() });
const calendar = defineEnvironment({
  name: "calendar",
  system: "You are an office assistant. Tools: find_event(title).",
  tasks: (random) => ({ prompt: "When do I have Demo?", time: `${10 + random.integer(8)}:30` }),
  start: ({ time }) => {
    const execute = (asked: { title: string }) => (asked.title === "Demo" ? [{ id: "e10", day: "Friday", time }] : []);
    return {
      tools: [defineTool({ name: "find_event", description: "Events of this title.", parameters, execute })],
      reward: ({ answer }) => (answer.includes(time) ? 1 : 0),
    };
  },
});
const [model = "bundled:office", steps = "20"] = process.argv.slice(2);
const settings = { environment: calendar, model, steps: Number(steps), evaluation: { tasks: 64, k: 2 } };
const { summary } = await train(settings, { print: true });
console.log(`success ${summary.before?.mean.toFixed(2)} → ${summary.after?.mean.toFixed(2)}`);
