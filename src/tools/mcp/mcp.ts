import { z } from "zod";
import { withPackage } from "../../core/optional-package.ts";
import { parseSettings } from "../../core/settings.ts";
import { longestTimer } from "../../core/timer.ts";
import type { Tool } from "../tool.ts";
import type { McpServer } from "./connection.ts";

export const mcpSettings = z.strictObject({
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

/**
 * The tools of an MCP server (modelcontextprotocol.io). A server that dies is started or connected again by the next call; the call
 * that it died in fails with a message for the model, because it may have had its effect.
 * @throws ToolError where the server does not start or has no tools, ConfigError where a setting is wrong or `@modelcontextprotocol/client` is not installed
 * @example
 * const { tools, close } = await connectMcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] });
 * await close();
 */
export async function connectMcp(server: McpServer, settings: McpSettings = {}): Promise<Mcp> {
  const parsed = parseSettings(mcpSettings, settings, "mcp");
  const load = () => import("./served-tools.ts");
  const { servedTools } = await withPackage("@modelcontextprotocol/client", "tools of MCP servers", load);
  return servedTools(server, parsed);
}
