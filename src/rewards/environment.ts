import { z } from "zod";
import { common, eachEpisode } from "./reward-kind.ts";

/** What the environment gave. */
export const environment = eachEpisode({
  settings: z.strictObject({ kind: z.literal("environment"), weight: common.weight }),
  score: ({ reward }) => reward,
});
