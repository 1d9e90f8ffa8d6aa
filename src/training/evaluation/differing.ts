import { ConfigError } from "../../core/errors.ts";
import type { Asked } from "./folder.ts";

/**
 * Checks that two evaluations can be compared.
 * @returns what differs and does not forbid it, in words
 * @throws ConfigError where they are of different worlds or tasks
 */
export function requireComparable(a: Asked, b: Asked): string[] {
  const same = (name: string, first: unknown, second: unknown, hint: string) => {
    if (JSON.stringify(first) === JSON.stringify(second)) return;
    throw new ConfigError(`${name} of ${b.model}`, second, { expected: `${JSON.stringify(first)}, that of ${a.model}`, hint });
  };
  const other = "Models of different worlds are not compared. Evaluate both in one, with --env.";
  same("environment.name", a.environment.name, b.environment.name, other);
  same("environment.settings", a.environment.settings, b.environment.settings, other);
  same("evaluation.split", a.split, b.split, "Evaluate both on one split, with --split.");
  same("evaluation.tasks", a.tasks, b.tasks, "Evaluate both on as many tasks, with --tasks.");
  same(
    "the world's contents",
    a.world,
    b.world,
    `The tasks differ although the settings are the same: versions ${a.version} and ${b.version} of the world. Evaluate both again.`,
  );
  const notes: readonly (readonly [string, unknown, unknown])[] = [
    ["k", a.k, b.k],
    ["temperature", a.temperature, b.temperature],
    ["seed (attempts draw other random numbers)", a.seed, b.seed],
    ["rollout limits", JSON.stringify(a.rollout), JSON.stringify(b.rollout)],
    ["code of the environment (SHA-256)", JSON.stringify(a.code), JSON.stringify(b.code)],
    ["chat endpoint", JSON.stringify(a.endpoint), JSON.stringify(b.endpoint)],
  ];
  return [
    ...notes.filter(([, first, second]) => first !== second).map(([name, first, second]) => `${name}: ${first} and ${second}`),
    ...(a.tokenizer === b.tokenizer ? [] : ["tokenizers: numbers of tokens do not compare, and attempts draw other words"]),
  ];
}
