import type { Glossary } from "../metrics.ts";

/** The metrics that SeeUPO alone reports. */
export const seeupoMetrics = {
  turnUpdates: { fold: "sum", meaning: "SeeUPO: turn updates that took a step." },
  rowsPerUpdateMin: { fold: "min", meaning: "SeeUPO: turns in the smallest turn update." },
  rowsPerUpdateMean: { fold: "mean", meaning: "SeeUPO: turns in a turn update, mean over the turn updates." },
  rowsPerUpdateMax: { fold: "max", meaning: "SeeUPO: turns in the largest turn update." },
  turnRatioMean: {
    fold: "mean",
    meaning:
      "SeeUPO: mean of the r that multiply M: a turn's probability after its turn update, over that before it or before the iteration. Not yet clipped.",
  },
  turnRatioMin: { fold: "min", meaning: "SeeUPO: smallest r." },
  turnRatioMax: { fold: "max", meaning: "SeeUPO: largest r." },
  carriedMin: { fold: "min", meaning: "SeeUPO: smallest M that multiplied an advantage." },
  carriedMax: { fold: "max", meaning: "SeeUPO: largest M that multiplied an advantage." },
} as const satisfies Glossary;
