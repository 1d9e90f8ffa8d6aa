import { toInt } from "../../python/numbers.ts";
import { PythonRandom } from "../../python/random.ts";
import type { Dict } from "../../python/values.ts";

/** The generator of a backend: seeded by its configuration, or by the backend's own number. */
export function seededBy(config: Dict, seed: bigint): PythonRandom {
  return new PythonRandom(toInt(config.get("random_seed") ?? seed));
}
