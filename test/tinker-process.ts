import "../extensions/install.ts";
/** One process of a training run of the letters, to be killed by the test that started it: `tinker-process.ts CONFIGURATION`, as JSON. */
import { planRun, runPlan } from "../src/sdk/train.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import { lettersEnvironment } from "./letters.ts";

const config = { ...(JSON.parse(process.argv[2]) as UserConfig), environment: lettersEnvironment() };
await runPlan(await planRun(config), { onEvent: (event) => event.type === "stepped" && console.log(event.record.step) });
