import { expect, test } from "vitest";
import { randomStream } from "../../core/random.ts";
import { splits } from "../environment.ts";
import { demonstrate } from "./demonstrations.ts";
import { officeEnvironment } from "./office.ts";

test.each(["small", "default", "large"])("the expert solves every task of every split at difficulty %s", async (difficulty) => {
  const office = officeEnvironment({ difficulty });
  for (const split of splits.filter((split) => office.size(split) > 0)) {
    for (let index = 0; index < 2000; index++) {
      const task = await office.task(split, index);
      const { score, messages } = demonstrate(task, randomStream(1));
      if (score.reward !== 1) expect({ task: task.id, score, messages }).toBe("solved");
    }
  }
});
