import type { Extension } from "../src/extension.ts";
import { appworldEnvironment } from "./appworld/appworld.ts";
import { appworldSettingsSchema } from "./appworld/settings.ts";
import { benchmarkEnvironment, benchmarkSettingsSchema } from "./benchmarks/benchmarks.ts";
import { deepResearchEnvironment } from "./benchmarks/deep-research.ts";
import { deepResearchSettingsSchema } from "./benchmarks/settings.ts";
import { type BenchmarkName, benchmarks } from "./benchmarks/table.ts";
import { bfclEnvironment } from "./bfcl/bfcl.ts";
import { bfclSettingsSchema } from "./bfcl/settings.ts";

/** Nothing of ours is around it: AppWorld's server guards what the code may import, and is no sandbox. */
const appworldAct = { kind: "runs", what: "the model's Python code in AppWorld's server, which is no sandbox" } as const;

/** Environments of research alone: `npm run research -- train --env NAME`. */
export const researchExtensions: readonly Extension[] = [
  { environments: { bfcl: { create: bfclEnvironment, settings: bfclSettingsSchema } } },
  { environments: { appworld: { create: appworldEnvironment, settings: appworldSettingsSchema, acts: [appworldAct] } } },
  {
    environments: {
      "deep-research": { create: (settings) => deepResearchEnvironment(settings), settings: deepResearchSettingsSchema },
    },
  },
  {
    environments: Object.fromEntries(
      (Object.keys(benchmarks) as BenchmarkName[]).map((name) => [
        name,
        { create: (settings: unknown) => benchmarkEnvironment(name, settings), settings: benchmarkSettingsSchema },
      ]),
    ),
  },
];
