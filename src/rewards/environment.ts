import { z } from "zod";
import { common, eachEpisode } from "./reward-kind.ts";

export const environment = eachEpisode({
  settings: z.strictObject({ kind: z.literal("environment"), weight: common.weight }),
  score: ({ reward }) => reward,
});
