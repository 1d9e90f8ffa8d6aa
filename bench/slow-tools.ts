import { setTimeout } from "node:timers/promises";
import type { Environment, Episode } from "../src/environments/environment.ts";

/** The same environment, with tools that take so many milliseconds longer. */
export function withSlowTools(environment: Environment, milliseconds: number): Environment {
  const slow = (episode: Episode): Episode => ({
    ...episode,
    tools: episode.tools.map((tool) => ({
      ...tool,
      execute: async (args, context) => {
        if (milliseconds > 0) await setTimeout(milliseconds);
        return tool.execute(args, context);
      },
    })),
  });
  return { ...environment, start: async (task, seed) => slow(await environment.start(task, seed)) };
}
