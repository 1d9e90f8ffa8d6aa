import type { ServerResponse } from "node:http";
import type { RunUpdate } from "./api.ts";
import { beginEvents } from "./http.ts";
import type { RunSource } from "./run-source.ts";
import { stateOf } from "./run-views.ts";

/** How often a run's files are looked at, in milliseconds. */
const everyMs = 500;

/**
 * Sends what a run adds, as server-sent events, until the page goes away. Looks at the files instead of watching them: that works on every
 * file system, and the trainer may be on another machine.
 */
export function streamRun(response: ServerResponse, source: RunSource): void {
  const push = beginEvents(response);
  let sent = countsOf(source);
  let last = "";
  const look = () => {
    try {
      const counts = countsOf(source);
      const restarted = counts.steps < sent.steps || counts.evaluations < sent.evaluations;
      const update: RunUpdate = {
        state: stateOf(source),
        live: source.live(),
        steps: source.steps().slice(sent.steps),
        timings: source.timings().slice(sent.timings),
        evaluations: source.evaluations().slice(sent.evaluations),
        messages: source.messages().slice(sent.messages),
        control: source.control().slice(sent.control),
        creditSteps: source.creditSteps().slice(sent.creditSteps),
        restarted,
      };
      sent = counts;
      const text = JSON.stringify(update);
      if (text !== last) push(update);
      last = text;
    } catch {
      // A file that is just being replaced is read at the next look.
    }
  };
  look();
  const timer = setInterval(look, everyMs);
  response.on("close", () => clearInterval(timer));
}

function countsOf(source: RunSource) {
  return {
    steps: source.steps().length,
    timings: source.timings().length,
    evaluations: source.evaluations().length,
    messages: source.messages().length,
    control: source.control().length,
    creditSteps: source.creditSteps().length,
  };
}
