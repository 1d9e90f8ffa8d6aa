/** `npx jiti research/studies/arpo/corridor-model.ts`: makes the start model of the corridor: random weights, and 1,000 steps of demonstrations. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sft } from "../../../entries/index.ts";
import { loadModel, saveModel } from "../../../extensions/local/model/model-folder.ts";
import { moreLettersTokenizer } from "../../../test/letters.ts";
import { writeTinyModel } from "../../../test/tiny-model.ts";
import { corridorEnvironment } from "./corridor.ts";

const working = mkdtempSync(join(tmpdir(), "retrograde-corridor-"));
await writeTinyModel(join(working, "random"), moreLettersTokenizer);
const { folder } = await sft(
  {
    environment: corridorEnvironment(),
    model: join(working, "random"),
    steps: 1000,
    tokensPerStep: 2000,
    optimizer: { learningRate: 3e-3, warmupSteps: 50, beta2: 0.98 },
    evaluation: { tasks: 0 },
    engine: { threads: 1 },
    checkpoint: { every: 1000 },
    out: join(working, "run"),
  },
  { print: true },
);
await saveModel("research/studies/arpo/corridor", await loadModel(join(folder, "model")), { dtype: "float32" });
rmSync(working, { recursive: true });
