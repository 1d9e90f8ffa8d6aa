import { officeEnvironment } from "../../extensions/office/office.ts";
import type { Environment } from "../../src/environments/environment.ts";

/**
 * The embedded environment with one request an episode, which ends with the first message that calls no tool: TRL's tool loop knows no
 * other. Everything else is as in the default run.
 */
export function oneRequestOffice(): Environment {
  const office: Environment = officeEnvironment({ requests: { min: 1, max: 1 } });
  return {
    ...office,
    start: async (task, seed) => {
      const episode = await office.start(task, seed);
      return {
        messages: episode.messages,
        tools: episode.tools,
        reply: async (message) => {
          await episode.reply(message);
          return { done: true };
        },
        score: (conversation) => episode.score(conversation),
      };
    },
  };
}
