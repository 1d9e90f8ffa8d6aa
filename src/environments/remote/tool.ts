import { RemoteEnvError } from "./problem.ts";

/** What a tool of another server executes by itself: nothing, because its episode answers the calls. */
export function notCalled(): never {
  throw new RemoteEnvError("malformed", "a tool of another server", "called by itself", {
    expected: "a call through the episode",
  });
}
