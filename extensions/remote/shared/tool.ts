import { z } from "zod";
import { jsonOf } from "../../../src/core/json.ts";
import type { ToolCall } from "../../../src/core/messages.ts";
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

/** Arguments of a call: none where the model wrote no object. Its text is kept. */
const argumentsSchema = z.record(z.string(), z.unknown()).catch({});

/** A call in a server's record, by the text of its arguments. */
export function recordedCall(id: string, name: string, text: string): ToolCall {
  return { id, name, arguments: argumentsSchema.parse(jsonOf(text)), argumentsText: text };
}

/** A server's message about a failed call, as the model reads it. Some servers begin it with "Error:" themselves. */
export function errorText(message: string): string {
  return message.startsWith("Error:") ? message : `Error: ${message}`;
}
