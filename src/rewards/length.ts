import { z } from "zod";
import { common, eachEpisode } from "./reward-kind.ts";

/** −min(cap, perToken · max(0, n − free)) for n action tokens. */
export const length = eachEpisode({
  isCost: true,
  settings: z.strictObject({
    kind: z.literal("length"),
    ...common,
    free: z.int().min(0).describe("action tokens of an episode that cost nothing"),
    perToken: z.number().positive().describe("cost of each further one"),
    /** 1: a sparse task that was solved at any length is worth no less than one that was not. */
    cap: z.number().positive().default(1).describe("the most that an episode pays"),
  }),
  score({ turns }, { free, perToken, cap }) {
    const tokens = turns.reduce((sum, { action }) => sum + action.length, 0);
    return 0 - Math.min(cap, perToken * Math.max(0, tokens - free));
  },
});
