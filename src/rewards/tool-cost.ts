import { z } from "zod";
import { common, eachEpisode } from "./reward-kind.ts";

/** −Σ cost(call) over the calls that were answered, valid or not. One that cannot be read has no name and costs `perCall`. */
export const toolCost = eachEpisode({
  isCost: true,
  settings: z
    .strictObject({
      kind: z.literal("tool-cost"),
      ...common,
      perCall: z.number().min(0).default(0).describe("cost of a call that `tools` does not name, or that cannot be read"),
      tools: z.record(z.string(), z.number().min(0)).default({}).describe("cost of a call, by the tool's name"),
    })
    .refine(
      ({ perCall, tools }) => perCall > 0 || Object.values(tools).some((cost) => cost > 0),
      "a cost: perCall, or of a tool",
    ),
  score({ messages }, { perCall, tools }) {
    let cost = 0;
    for (const message of messages)
      if (message.role === "tool") cost += (Object.hasOwn(tools, message.name) ? tools[message.name] : undefined) ?? perCall;
    return 0 - cost;
  },
});
