import { setTimeout } from "node:timers/promises";
import { type ControlRecord, type ControlRequest, learningRateAt, readControl, takeRequests } from "../runs/control.ts";
import type { OnEvent } from "./record/events.ts";

/** How long a paused run waits before it looks for a request again, in milliseconds. */
const pollMs = 250;

/**
 * Takes the requests that people make of a run while it is trained. Requests are taken between steps and recorded with the step
 * that they take effect at. A run that is resumed or replayed finds a change of the learning rate in its records and applies it at
 * the same step; pauses move no number and are not repeated.
 */
export class RunControl {
  readonly #folder: string;
  readonly #onEvent: OnEvent;
  readonly #signal: AbortSignal | undefined;
  #records: readonly ControlRecord[];

  constructor(folder: string, onEvent: OnEvent, signal?: AbortSignal) {
    this.#folder = folder;
    this.#onEvent = onEvent;
    this.#signal = signal;
    this.#records = readControl(folder);
  }

  /**
   * Takes the requests before a step, and waits while the run is paused.
   * @returns false if the run is to end before this step
   * @throws the signal's reason if it was aborted in a pause
   */
  async before(step: number): Promise<boolean> {
    let paused = false;
    do {
      for (const request of this.#take(step)) {
        if (request.action === "stop") return false;
        if (request.action !== "learning-rate") {
          paused = request.action === "pause";
          this.#onEvent({ type: "control", step, state: paused ? "paused" : "running" });
        }
        this.#onEvent({ type: "notice", message: sentence(request, step) });
      }
      if (paused) await setTimeout(pollMs, undefined, { signal: this.#signal });
    } while (paused);
    return true;
  }

  /** Returns the learning rate of a step's schedule. @param configured where nobody has asked for another */
  learningRate(step: number, configured: number): number {
    return learningRateAt(this.#records, step) ?? configured;
  }

  #take(step: number): ControlRequest[] {
    const refused = (message: string) => this.#onEvent({ type: "warning", message });
    const taken = takeRequests(this.#folder, step, refused);
    if (taken.length > 0) this.#records = readControl(this.#folder);
    return taken;
  }
}

function sentence(request: ControlRequest, step: number): string {
  switch (request.action) {
    case "pause":
      return `Paused before step ${step}, as asked.`;
    case "resume":
      return `Going on with step ${step}, as asked.`;
    case "stop":
      return `Stopping before step ${step}, as asked.`;
    case "learning-rate":
      return `The learning rate is ${request.value} from step ${step} on, as asked.`;
    default:
      return request satisfies never;
  }
}
