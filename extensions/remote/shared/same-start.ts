import { createHash } from "node:crypto";
import type { Message } from "../../../src/core/messages.ts";
import { RemoteEnvError } from "./problem.ts";
import type { RemoteSettings } from "./settings.ts";

/** Most tasks whose beginnings are remembered. The oldest are forgotten. */
const remembered = 10_000;

/**
 * Compares the first messages of episodes of one task. Rollouts of a group are compared with each other, and servers that ignore the seed
 * would silently give them different tasks.
 */
export class SameStart {
  readonly #hashes = new Map<string, string>();
  readonly #required: boolean;

  constructor({ sameStart }: Pick<RemoteSettings, "sameStart">) {
    this.#required = sameStart === "require";
  }

  /** @throws RemoteEnvError if the task began differently before */
  check(task: string, messages: readonly Message[]): void {
    if (!this.#required) return;
    const hash = createHash("sha256").update(JSON.stringify(messages)).digest("base64");
    const known = this.#hashes.get(task);
    if (known === undefined) {
      this.#hashes.set(task, hash);
      const [oldest] = this.#hashes.keys();
      if (this.#hashes.size > remembered && oldest !== undefined) this.#hashes.delete(oldest);
    } else if (known !== hash)
      throw new RemoteEnvError("malformed", `the beginning of task ${task}`, "another than in an earlier episode", {
        expected: "the same first observation for the same seed or index: a group of rollouts is compared with itself",
        hint:
          "The server seems to ignore the seed. Have its environment use it, name tasks that decide all (environment.settings.resets), or accept " +
          'it by environment.settings.sameStart "ignore".',
      });
  }
}
