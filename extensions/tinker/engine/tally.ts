import type { EngineStats } from "../../../src/engines/engine.ts";
import type { TransportStats } from "../client/index.ts";
import { distinctPrefixes } from "./data.ts";
import type { Pass } from "./passes.ts";

const none = () => ({
  sampler: { sampledTokens: 0, prefilledTokens: 0, seconds: 0 },
  training: { computedTokens: 0, denseTokens: 0, seconds: 0 },
  remote: { waits: 0, sharedTokens: 0 },
});

/** Counts what an engine on a server exchanged with it, until the counts are taken. */
export class Tally {
  #counts = none();

  sampled(sampledTokens: number, prefilledTokens: number): void {
    this.#counts.sampler.sampledTokens += sampledTokens;
    this.#counts.sampler.prefilledTokens += prefilledTokens;
  }

  /** Time of sampling, from `start` of the clock of `performance`. */
  sampledSince(start: number): void {
    this.#counts.sampler.seconds += (performance.now() - start) / 1000;
  }

  sent({ packed, samples }: Pass): void {
    this.#counts.training.computedTokens += packed.data.reduce((sum, { tokens }) => sum + tokens.length + 1, 0);
    this.#counts.training.denseTokens += samples.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
    this.#counts.remote.sharedTokens += distinctPrefixes(samples);
  }

  /** Counts waits for results of training, from `start` of the clock of `performance`. */
  waitedSince(start: number, waits = 1): void {
    this.#counts.remote.waits += waits;
    this.#counts.training.seconds += (performance.now() - start) / 1000;
  }

  take({ requests, sentBytes, receivedBytes }: TransportStats): EngineStats {
    const { sampler, training, remote } = this.#counts;
    this.#counts = none();
    return { sampler, training, remote: { ...remote, requests, sentBytes, receivedBytes } };
  }
}
