import type { EngineStats } from "../../../src/engines/engine.ts";
import type { TransportStats } from "../client/index.ts";
import { distinctPrefixes } from "./data.ts";
import type { Pass } from "./passes.ts";

/** Counts what an engine on a server exchanged with it, until the counts are taken. */
export class Tally {
  #sampler = { sampledTokens: 0, prefilledTokens: 0, seconds: 0 };
  #training = { computedTokens: 0, denseTokens: 0, seconds: 0 };
  #remote = { waits: 0, sharedTokens: 0 };

  sampled(sampledTokens: number, prefilledTokens: number): void {
    this.#sampler.sampledTokens += sampledTokens;
    this.#sampler.prefilledTokens += prefilledTokens;
  }

  /** Time of sampling, from `start` of the clock of `performance`. */
  sampledSince(start: number): void {
    this.#sampler.seconds += (performance.now() - start) / 1000;
  }

  sent({ packed, samples }: Pass): void {
    this.#training.computedTokens += packed.data.reduce((sum, { tokens }) => sum + tokens.length + 1, 0);
    this.#training.denseTokens += samples.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
    this.#remote.sharedTokens += distinctPrefixes(samples);
  }

  /** Counts waits for results of training, from `start` of the clock of `performance`. */
  waitedSince(start: number, waits = 1): void {
    this.#remote.waits += waits;
    this.#training.seconds += (performance.now() - start) / 1000;
  }

  take({ requests, sentBytes, receivedBytes }: TransportStats): EngineStats {
    const stats = {
      sampler: this.#sampler,
      training: this.#training,
      remote: { ...this.#remote, requests, sentBytes, receivedBytes },
    };
    this.#sampler = { sampledTokens: 0, prefilledTokens: 0, seconds: 0 };
    this.#training = { computedTokens: 0, denseTokens: 0, seconds: 0 };
    this.#remote = { waits: 0, sharedTokens: 0 };
    return stats;
  }
}
