import { z } from "zod";
import { settingsDoor } from "../../../src/core/door.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import type { Tool } from "../../../src/tools/tool.ts";

export const mcpSettings = settingsDoor("settings of connectMcp", {
  /** In messages. The command or address, if left out. */
  name: z.string().optional(),
  /** For one call. */
  timeoutMs: z.number().positive().max(longestTimer).default(30_000),
  /** For the start of the server and its first answer. */
  startMs: z.number().positive().max(longestTimer).default(60_000),
});

export type McpSettings = z.input<typeof mcpSettings>;

export interface Mcp {
  /** As the server named and described them when it was connected, without those that it runs as tasks only. */
  readonly tools: readonly Tool[];
  /** The server's text on how its tools are used, for the system prompt. */
  readonly instructions?: string;
  /** Ends the server, or the session with it. It keeps the program alive until then. */
  close(): Promise<void>;
}
