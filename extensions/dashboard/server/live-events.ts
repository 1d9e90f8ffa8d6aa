import type { ServerResponse } from "node:http";
import { reasonOf } from "../../../src/core/errors.ts";
import type { RunUpdate, StreamProblem } from "./api.ts";
import { beginEvents } from "./http.ts";
import type { RunSource } from "./run-source.ts";
import { rowOf } from "./run-views.ts";

/** How often a run's files are looked at, in milliseconds. */
const everyMs = 500;

/** Looks that may fail one after the other, because a file is just being replaced, before the page learns of it. */
const looksInVain = 4;

/**
 * Sends what a run adds, as server-sent events, until the page goes away. Looks at the files instead of watching them: that works on every
 * file system, and the trainer may be on another machine.
 * @param steps that the page has
 */
export function streamRun(response: ServerResponse, source: RunSource, steps: number): void {
  const push = beginEvents(response);
  // What was added between the page's first question and this stream, or while the two were apart, is sent too.
  let sent = { steps, timings: steps, evaluations: 0, messages: 0, control: 0, creditSteps: 0 };
  let last = "";
  let failed = 0;
  const look = () => {
    try {
      const counts = countsOf(source);
      const restarted = counts.steps < sent.steps || counts.evaluations < sent.evaluations;
      const update: RunUpdate = {
        row: rowOf(source),
        summary: source.summary(),
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
      failed = 0;
    } catch (error) {
      if (++failed === looksInVain) push({ problem: reasonOf(error) } satisfies StreamProblem);
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
