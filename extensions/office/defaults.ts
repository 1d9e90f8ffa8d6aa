import { isSeeupo } from "../../src/algorithms/seeupo/settings.ts";
import type { DefaultSettings } from "../../src/training/config/defaults.ts";

/** SeeUPO takes a step for every turn, about ten a batch in the office: at 3e-4 its default model comes to write noise within 20 steps. */
export const officeDefaults: DefaultSettings = (algorithm) =>
  isSeeupo(algorithm) ? { optimizer: { learningRate: 1e-4 } } : undefined;
