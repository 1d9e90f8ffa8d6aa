import { expect } from "vitest";
import { serveEnvironment } from "../../extensions/remote/server/serve-environment.ts";
import { splitsOf } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { expertPlans } from "./expert-plans.ts";
import { output, script, share, withPackage } from "./packages.ts";
import { played } from "./played.ts";

/** 400 are all that an evaluation uses. */
const tasks = share(10, 400);

/** The published clients of each protocol. */
const clients = [
  ["openenv", "openenv", "openenv 0.10.0", "openenv_experts.py"],
  ["ors", "ors", "ors-sdk 0.1.0", "ors_experts.py"],
  ["ors", "openreward", "openreward 0.1.167", "ors_experts.py"],
] as const;

for (const world of ["office", "knowledge"])
  for (const [as, name, version, client] of clients)
    withPackage(name, `${world}'s expert solves every task through the client of ${version}`, async () => {
      const environment = createEnvironment(world, {});
      const plans = await expertPlans(
        environment,
        tasks,
        ["test", "challenge"].filter((split) => splitsOf(environment).includes(split)),
      );
      const server = await serveEnvironment({ environment, as, port: 0 });
      const said = await output(name, [script(client), server.baseUrl, plans, world]);
      await server.close();
      expect(said).toMatchObject({ right: said.episodes, wrong: [] });
      expect(said.episodes).toBeGreaterThanOrEqual(tasks);
      played({
        ...{ wire: as === "ors" ? "ORS" : "OpenEnv", package: version, what: `its client plays ${world} as its expert does` },
        ...{ episodes: Number(said.episodes), result: "the expert's reward in all" },
      });
    });
