import { ConfigError } from "../../core/errors.ts";
import { type ControlRequest, controlRequestSchema, requestControl } from "../../runs/control.ts";
import { readLive } from "../../runs/live.ts";
import { readRun } from "../../runs/read.ts";
import type { Screen } from "../../terminal/screen.ts";

/** Leaves a request for a run's trainer. @throws ConfigError for an unknown action or a wrong value */
export function controlCommand(folder: string, action: string, value: string | undefined, screen: Screen): void {
  readRun(folder);
  const request = requestOf(action, value);
  requestControl(folder, request);
  const live = readLive(folder);
  screen.line(
    live === undefined
      ? "Recorded. Nothing trains this run now: it takes effect when it is resumed."
      : `Takes effect before the step after ${live.step}.`,
  );
}

function requestOf(action: string, value: string | undefined): ControlRequest {
  const parsed = controlRequestSchema.safeParse(action === "learning-rate" ? { action, value: Number(value) } : { action });
  if (parsed.success) return parsed.data;
  if (action === "learning-rate") throw new ConfigError("the learning rate", value, { expected: "a number above 0" });
  throw new ConfigError("the action", action, { expected: ["pause", "resume", "stop", "learning-rate"] });
}
