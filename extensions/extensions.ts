import type { Extension } from "../src/extension.ts";
import { answersEnvironment, answersSettingsSchema } from "./answers/answers.ts";
import { defaults } from "./defaults.ts";
import { calculationEnvironment, calculatorEnvironment } from "./demo/environments.ts";
import { engines } from "./engines.ts";
import { conversationFormats } from "./formats/conversations/formats.ts";
import { judgeReward } from "./judge/rewards.ts";
import { miniwobEnvironment, miniwobSettingsSchema } from "./miniwob/miniwob.ts";
import { officeEnvironment } from "./office/office.ts";
import { officeSettingsSchema } from "./office/settings.ts";
import { remoteEnvironments } from "./remote/remote.ts";
import { diagnoseSandbox } from "./tools/python/diagnose.ts";

const miniwobAct = { kind: "runs", what: "the JavaScript of pages in this process, by jsdom" } as const;

/** The extensions of this package: what each brings to a configuration. */
export const extensions: readonly Extension[] = [
  { environments: { office: { create: officeEnvironment, settings: officeSettingsSchema } }, defaults },
  { environments: { calculation: calculationEnvironment, calculator: calculatorEnvironment } },
  {
    environments: {
      miniwob: { create: (settings) => miniwobEnvironment(settings), settings: miniwobSettingsSchema, acts: [miniwobAct] },
    },
  },
  { environments: { answers: { create: answersEnvironment, settings: answersSettingsSchema } } },
  { wires: remoteEnvironments },
  { conversations: conversationFormats },
  { rewards: { judge: judgeReward } },
  { engines },
  { diagnose: diagnoseSandbox },
];
