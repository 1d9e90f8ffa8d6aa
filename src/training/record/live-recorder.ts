import { appendMessage, type LiveStatus, removeLive, writeLive } from "../../runs/live.ts";
import type { OnEvent, TrainingEvent } from "./events.ts";

/** Progress is written at most this often, in milliseconds. */
const everyMs = 500;

/**
 * Keeps `live.json` and `messages.jsonl` of a run's folder: what other processes see of a run between two steps. What cannot be written is
 * left out, since the records of the next step report a full disk.
 */
export function recordLive(folder: string, clock = () => performance.now()): { readonly onEvent: OnEvent; close(): void } {
  let now: Omit<LiveStatus, "schema" | "pid" | "host" | "at"> = { step: 0, phase: "start", done: 0, total: 0, tokens: 0 };
  let written = Number.NEGATIVE_INFINITY;
  const write = () => {
    written = clock();
    attempt(() => writeLive(folder, now));
  };
  const onEvent = (event: TrainingEvent) => {
    switch (event.type) {
      case "run-started":
        return write();
      case "phase":
        now = { ...now, step: event.step, phase: event.phase, done: 0, total: event.total, tokens: 0 };
        return write();
      case "progress":
        now = { ...now, done: event.done, total: event.total, tokens: event.tokens };
        if (clock() - written >= everyMs) write();
        return;
      case "notice":
      case "warning":
        return attempt(() => appendMessage(folder, { level: event.type, step: now.step, message: event.message }));
      default:
        return;
    }
  };
  return { onEvent, close: () => attempt(() => removeLive(folder)) };
}

function attempt(write: () => void): void {
  try {
    write();
  } catch {
    // Nothing that a run needs.
  }
}
