import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { z } from "zod";
import { ToolError } from "../../core/errors.ts";
import { parseSettings } from "../../core/settings.ts";
import { longestTimer } from "../../core/timer.ts";
import type { Tool } from "../tool.ts";
import { type Connection, createConnection, type McpServer } from "./connection.ts";
import { asText } from "./content.ts";

export const mcpSettings = z.strictObject({
  /** In messages. The command or address, if left out. */
  name: z.string().optional(),
  /** For one call. */
  timeoutMs: z.number().positive().max(longestTimer).default(30_000),
  /** For the start of the server and its first answer. */
  startMs: z.number().positive().max(longestTimer).default(30_000),
});
export type McpSettings = z.input<typeof mcpSettings>;

export interface Mcp {
  /** As the server named and described them when it was connected. */
  readonly tools: readonly Tool[];
  /** Ends the server, or the session with it. It keeps the program alive until then. */
  close(): Promise<void>;
}

/**
 * The tools of an MCP server (modelcontextprotocol.io). A server that dies is started or connected again by the next call; the call
 * that it died in fails with a message for the model, because it may have had its effect.
 * @throws ToolError where the server does not start, ConfigError
 * @example
 * const { tools, close } = await connectMcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] });
 * await close();
 */
export async function connectMcp(server: McpServer, settings: McpSettings = {}): Promise<Mcp> {
  const {
    name = "url" in server ? new URL(server.url).host : server.command,
    timeoutMs,
    startMs,
  } = parseSettings(mcpSettings, settings, "mcp");
  const connection = createConnection(name, server, startMs);
  try {
    const client = await connection.client();
    const { tools } = await client.listTools(undefined, { timeout: startMs });
    return {
      tools: tools.map(({ name: tool, description = "", inputSchema, annotations }) => ({
        name: tool,
        description,
        parameters: inputSchema,
        timeoutMs: timeoutMs + startMs,
        idempotent: annotations?.idempotentHint === true || annotations?.readOnlyHint === true,
        execute: (args, { signal }) => call({ server: name, tool, args, timeoutMs, signal }, connection),
      })),
      close: connection.close,
    };
  } catch (error) {
    await connection.close();
    if (error instanceof ToolError) throw error;
    throw new ToolError(`MCP server ${name}`, "not there", { expected: "a list of tools", hint: connection.explain(error) });
  }
}

interface Call {
  readonly server: string;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Wrong answers are no reason to end a server that others wait for. */
const nonsense: readonly SdkErrorCode[] = [SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType];

async function call(asked: Call, connection: Connection, again = false): Promise<string> {
  const { server, tool, args, timeoutMs, signal } = asked;
  const client = await connection.client();
  try {
    const result = await client.callTool({ name: tool, arguments: args }, { signal, timeout: timeoutMs });
    return result.isError === true ? `Error: ${asText(result)}` : asText(result);
  } catch (error) {
    signal.throwIfAborted();
    // The server understood, and refuses.
    if (error instanceof ProtocolError) throw new Error(connection.explain(error));
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
      await connection.dropIfSilent(client);
      throw new Error(`${tool} gave no answer within ${timeoutMs} ms`);
    }
    if (error instanceof SdkError && nonsense.includes(error.code)) {
      throw new Error(`the MCP server ${server} answered with something else than a result: ${connection.explain(error)}`);
    }
    await connection.drop(client);
    // A server that was restarted does not know the session, and has done nothing: the call is made in a new one.
    if (error instanceof SdkHttpError && error.status === 404 && !again) return call(asked, connection, true);
    throw new Error(`the MCP server ${server} ended during the call, or cannot be reached: ${connection.explain(error)}`);
  }
}
