import type { Tool } from "../../../src/tools/tool.ts";
import { RemoteEnvError } from "./problem.ts";

/** A tool of a server, whose episode answers its calls. */
export function serverTool(
  { name, description, parameters }: Pick<Tool, "name" | "description" | "parameters">,
  { replayable }: { readonly replayable: boolean },
): Tool {
  return { name, description, parameters, replayable, execute: notCalled };
}

/** Throws where a tool of another server is executed by itself: it does nothing there, because its episode answers the calls. */
export function notCalled(): never {
  throw new RemoteEnvError("malformed", "a tool of another server", "called by itself", {
    expected: "a call through the episode",
  });
}

/** A server's message about a failed call, as the model reads it. Some servers begin it with "Error:" themselves. */
export function errorText(message: string): string {
  return message.startsWith("Error:") ? message : `Error: ${message}`;
}
