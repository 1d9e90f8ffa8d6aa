import { pause } from "../../../src/core/deadline.ts";
import { reasonOf } from "../../../src/core/errors.ts";
import type { Reply } from "../../http/server.ts";
import type { RunUpdate, StreamProblem } from "./api.ts";
import type { RunSource } from "./run-source.ts";
import { rowOf } from "./run-views.ts";

/** How often a run's files are looked at, in milliseconds. */
const everyMs = 500;

/** Looks that may fail one after the other, because a file is just being replaced, before the page learns of it. */
const maxFailedReads = 4;

/**
 * Sends what a run adds, as server-sent events, until the page goes away. Looks at the files instead of watching them: that works on every
 * file system, and the trainer may be on another machine.
 * @param steps that the page has
 * @param gone aborted when the page is
 */
export function runEvents(source: RunSource, steps: number, gone: AbortSignal): Reply {
  return { events: (write) => watch(source, steps, (update) => write(`data: ${JSON.stringify(update)}\n\n`), gone) };
}

async function watch(
  source: RunSource,
  steps: number,
  push: (update: RunUpdate | StreamProblem) => void,
  gone: AbortSignal,
): Promise<void> {
  // What was added between the page's first question and this stream, or while the two were apart, is sent too.
  let sent = { steps, timings: steps, evaluations: 0, messages: 0, creditSteps: 0 };
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
        creditSteps: source.creditSteps().slice(sent.creditSteps),
        restarted,
      };
      sent = counts;
      const text = JSON.stringify(update);
      if (text !== last) push(update);
      last = text;
      failed = 0;
    } catch (error) {
      if (++failed === maxFailedReads) push({ problem: reasonOf(error) } satisfies StreamProblem);
    }
  };
  while (!gone.aborted) {
    look();
    await pause(everyMs, gone).catch(() => {});
  }
}

function countsOf(source: RunSource) {
  return {
    steps: source.steps().length,
    timings: source.timings().length,
    evaluations: source.evaluations().length,
    messages: source.messages().length,
    creditSteps: source.creditSteps().length,
  };
}
