import type { Extension } from "../src/extension.ts";
import { appworldEnvironment } from "./appworld/appworld.ts";
import { appworldSettingsSchema } from "./appworld/settings.ts";
import { benchmarkEnvironment, benchmarkSettingsSchema } from "./benchmarks/benchmarks.ts";
import { deepResearchEnvironment } from "./benchmarks/deep-research.ts";
import { deepResearchSettingsSchema } from "./benchmarks/settings.ts";
import { type BenchmarkName, benchmarks } from "./benchmarks/table.ts";
import { bfclEnvironment } from "./bfcl/bfcl.ts";
import { bfclSettingsSchema } from "./bfcl/settings.ts";
import { defaults } from "./defaults.ts";
import { calculationEnvironment, calculatorEnvironment } from "./demo/environments.ts";
import { shopEnvironment } from "./demo/shop/shop.ts";
import { engines } from "./engines.ts";
import { conversationFormats } from "./formats/conversations/formats.ts";
import { harborEnvironment, harborSettingsSchema } from "./harbor/harbor.ts";
import { judgeEvaluation } from "./judge/judging.ts";
import { judgeRewards } from "./judge/rewards.ts";
import { knowledgeEnvironment } from "./knowledge/knowledge.ts";
import { knowledgeSettingsSchema } from "./knowledge/settings.ts";
import { miniwobEnvironment, miniwobSettingsSchema } from "./miniwob/miniwob.ts";
import { officeEnvironment } from "./office/office.ts";
import { officeSettingsSchema } from "./office/settings.ts";
import { officeUserEnvironment } from "./office-user/office-user.ts";
import { officeUserSettingsSchema } from "./office-user/settings.ts";
import { remoteEnvironments } from "./remote/remote.ts";
import { diagnoseSandbox } from "./tools/python/diagnose.ts";

/** Nothing of ours is around it: AppWorld's server guards what the code may import, and is no sandbox. */
const appworldAct = { kind: "runs", what: "the model's Python code in AppWorld's server, which is no sandbox" } as const;

const miniwobAct = { kind: "runs", what: "the JavaScript of pages in this process, by jsdom" } as const;

/** The extensions of this package: what each brings to a configuration. */
export const extensions: readonly Extension[] = [
  { environments: { office: { create: officeEnvironment, settings: officeSettingsSchema } }, defaults },
  { environments: { "office-user": { create: officeUserEnvironment, settings: officeUserSettingsSchema } } },
  { environments: { knowledge: { create: knowledgeEnvironment, settings: knowledgeSettingsSchema } } },
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
  { environments: { calculation: calculationEnvironment, calculator: calculatorEnvironment, shop: shopEnvironment } },
  { environments: { harbor: { create: harborEnvironment, settings: harborSettingsSchema } } },
  {
    environments: {
      miniwob: { create: (settings) => miniwobEnvironment(settings), settings: miniwobSettingsSchema, acts: [miniwobAct] },
    },
  },
  { wires: remoteEnvironments },
  { conversations: conversationFormats },
  { rewards: { judge: judgeRewards }, judge: judgeEvaluation },
  { engines },
  { diagnose: diagnoseSandbox },
];
