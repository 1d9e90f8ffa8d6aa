import { RemoteEnvError } from "./problem.ts";
import type { RemoteSettings } from "./settings.ts";

/** The rewards of an episode: added up to its return, or each left with its turn, as the settings say. */
export class Rewards {
  readonly #kind: RemoteSettings["rewards"];
  readonly #spoken: string;
  #return = 0;
  #given = false;

  /** @param spoken the protocol and its version */
  constructor({ rewards }: Pick<RemoteSettings, "rewards">, spoken: string) {
    this.#kind = rewards;
    this.#spoken = spoken;
  }

  /**
   * Takes the reward of an answer.
   * @param over true if the answer ends the episode
   * @returns what its turn is given
   * @throws RemoteEnvError if the episode ends without any reward: servers in Python write NaN as null
   */
  give(reward: number | boolean | null | undefined, over: boolean): { readonly reward?: number } {
    this.#given ||= reward !== null && reward !== undefined;
    if (over && !this.#given)
      throw new RemoteEnvError("malformed", "reward of the answer that ends the episode", reward, {
        expected: `a number, as no answer before has one (${this.#spoken})`,
        hint: "Servers in Python write NaN and infinite numbers as null. An environment that means 0 has to say 0.",
      });
    this.#return += Number(reward ?? 0);
    return this.#kind === "turns" && reward !== null && reward !== undefined ? { reward: Number(reward) } : {};
  }

  score(): { readonly reward: number } {
    return { reward: this.#kind === "return" ? this.#return : 0 };
  }
}
