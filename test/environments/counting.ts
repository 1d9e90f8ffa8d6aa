import { z } from "zod";
import { defineEnvironment } from "../../src/environments/define.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { defineTool } from "../../src/tools/tool.ts";

/** Goals of the episodes that were closed. */
export const closed: string[] = [];

/** A counter that has to reach the task's goal: each call costs 0.1, the right answer is worth 1. */
export const counting = (): Environment =>
  defineEnvironment({
    name: "counting",
    system: "Count.",
    tasks: {
      train: [2, 3, 4].map((goal) => ({ prompt: `Count to ${goal}.`, goal })),
      hard: [{ prompt: "Count to 9.", goal: 9 }],
    },
    start: ({ goal }) => {
      let count = 0;
      const add = defineTool({
        name: "add",
        description: "Adds to the counter.",
        parameters: z.object({ by: z.number() }),
        execute: ({ by }) => {
          if (by < 0) throw new Error("only up");
          count += by;
          return by === 7 ? ` ${"wide  \n".repeat(2500)}` : `The counter is ${count}.`;
        },
      });
      return {
        tools: [add],
        afterTools: () => ({ reward: -0.1 }),
        reply: ({ content }) => (content === "more" ? "Go on." : undefined),
        reward: () => ({ reward: count === goal ? 1 : 0, scores: { count } }),
        close: () => void closed.push(`${goal}`),
      };
    },
  });
