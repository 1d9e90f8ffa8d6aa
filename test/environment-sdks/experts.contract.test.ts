import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import { serveEnvironment } from "../../extensions/remote/server/serve-environment.ts";
import { type Environment, splitsOf } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { answerPlans, expertPlans } from "./expert-plans.ts";
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

/** The Python of .ci/bfcl, whose package has BFCL's tasks and answers. */
const bfcl = process.env.RETROGRADE_BFCL_PYTHON ?? "";
const find = "import importlib.util as u; print(u.find_spec('bfcl_eval').submodule_search_locations[0])";

/** An answer that cannot be played: it calls a tool two turns before the tool is given. */
const defect = expect.arrayContaining(["miss_func", 49]);

async function playedBy(client: (typeof clients)[number], environment: Environment, plans: string, whose: string): Promise<void> {
  const [as, name, version, program] = client;
  // The answer to one turn of BFCL's has 34 calls.
  const server = await serveEnvironment({ environment, as, port: 0, maxTurns: 100 });
  const said = await output(name, [script(program), server.baseUrl, plans, environment.name]);
  await server.close();
  const isBfcl = environment.name === "bfcl";
  const wrong = said.wrong as readonly unknown[];
  expect(wrong).toEqual(wrong.map(() => (isBfcl ? defect : [])));
  expect(said.right).toBe(Number(said.episodes) - wrong.length);
  expect(wrong.length).toBeLessThanOrEqual(Number(isBfcl));
  expect(said.episodes).toBeGreaterThanOrEqual(tasks);
  played({
    ...{ wire: as === "ors" ? "ORS" : "OpenEnv", package: version },
    ...{ what: `its client plays ${environment.name} as ${whose}`, episodes: Number(said.episodes) },
    refused: as === "ors" ? "orsServer" : "openenvServer",
    result: isBfcl ? "reward 1 but for one answer, which calls a tool before it is given" : "the expert's reward in all",
  });
}

for (const client of bfcl === "" ? [] : clients)
  withPackage(client[1], `BFCL's published answers are right through the client of ${client[2]}`, async () => {
    const data = join(execFileSync(bfcl, ["-c", find], { encoding: "utf8" }).trim(), "data");
    const environment = createEnvironment("bfcl", { data, stepsPerTurn: 60 });
    await playedBy(client, environment, await answerPlans(environment, data, share(3, 200)), "its published answers say");
  });

for (const world of ["office"])
  for (const client of clients)
    withPackage(client[1], `${world}'s expert solves every task through the client of ${client[2]}`, async () => {
      const environment = createEnvironment(world, {});
      const plans = await expertPlans(
        environment,
        tasks,
        ["test", "challenge"].filter((split) => splitsOf(environment).includes(split)),
      );
      await playedBy(client, environment, plans, "its expert does");
    });
