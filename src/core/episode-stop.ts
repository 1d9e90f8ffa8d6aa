import type { StopReason } from "./trajectory.ts";

/** Ends an episode early. */
export class EpisodeStop extends Error {
  readonly reason: StopReason;
  constructor(reason: StopReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
