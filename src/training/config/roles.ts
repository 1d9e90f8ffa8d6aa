import { algorithmConfigSchema, defaultsOf, factsOf, rolloutAlgorithms } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Environment } from "../../environments/environment.ts";
import type { TrainingConfig } from "./settings.ts";

/**
 * Checks a run whose environment has roles.
 * @throws ConfigError for the first setting that would not credit each role by its own reward
 */
export function checkRoles(
  { algorithm, rewards, rollout }: Pick<TrainingConfig, "algorithm" | "rewards" | "rollout">,
  { name, roles, play }: Pick<Environment, "name" | "roles" | "play">,
): void {
  if (roles === undefined || algorithm.kind === "sft") return;
  const has = `"${name}" has the roles ${roles.join(", ")}`;
  if (play !== undefined)
    throw new ConfigError("environment.name", name, {
      expected: `an environment whose episodes are started: ${has}, and holds the conversation itself`,
    });
  if (!factsOf(algorithm).creditsRoles)
    throw new ConfigError("algorithm.kind", algorithm.kind, {
      expected: crediting(),
      hint: `${has}, and this algorithm credits a whole episode by one return.`,
    });
  if (rollout.branching !== "off")
    throw new ConfigError("rollout.branching", rollout.branching, {
      expected: '"off"',
      hint: `${has}: trees of several conversations are not supported.`,
    });
  if (rewards !== undefined)
    throw new ConfigError("rewards", rewards, {
      expected: "none",
      hint: `${has}: each role is credited by the reward that the environment gives it.`,
    });
}

/** The algorithms that credit roles by default. Branching, which is some of them's own, is not for roles. */
function crediting(): string[] {
  return rolloutAlgorithms.filter((kind) => {
    const { data } = algorithmConfigSchema.safeParse({ kind });
    return data !== undefined && factsOf(data).creditsRoles && defaultsOf(kind).rollout?.branching === undefined;
  });
}
