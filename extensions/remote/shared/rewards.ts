import type { RemoteSettings } from "./settings.ts";

/** The rewards of an episode: added up to its return, or each left with its turn, as the settings say. */
export class Rewards {
  readonly #kind: RemoteSettings["rewards"];
  #return = 0;

  constructor({ rewards }: Pick<RemoteSettings, "rewards">) {
    this.#kind = rewards;
  }

  /** Takes a reward. @returns what its turn is given */
  give(reward: number | boolean | null | undefined): { readonly reward?: number } {
    this.#return += Number(reward ?? 0);
    return this.#kind === "turns" && reward !== null && reward !== undefined ? { reward: Number(reward) } : {};
  }

  score(): { readonly reward: number } {
    return { reward: this.#kind === "return" ? this.#return : 0 };
  }
}
