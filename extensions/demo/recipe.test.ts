import { expect, test } from "vitest";
import { trainingUse } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { planMemory } from "../local/memory-plan.ts";
import { parseModelConfig } from "../local/model/model-config.ts";
import { memoryUse } from "../local/open.ts";
import { publishedSizes } from "../local/published-sizes.ts";
import { demoTasks, recipes } from "./recipe.ts";

const smollm2 = parseModelConfig(publishedSizes.smollm2, "smollm2");

test.each(demoTasks.flatMap((task) => [[task, "form"] as const, [task, "reinforcement"] as const]))(
  "the model of the demonstration fits the memory that %s gives it to learn its %s",
  (task, stage) => {
    const config = resolveConfig(recipes[task][stage]);
    const { engine } = config;
    if (engine.kind !== "local" || engine.memory === undefined) throw new Error("a demonstration has a limit of memory");
    const available = engine.memory * 2 ** 30;
    expect(planMemory(smollm2, memoryUse(engine, trainingUse(config)), available).bytes).toBeLessThanOrEqual(available);
  },
);
