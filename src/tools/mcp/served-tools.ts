import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import type { z } from "zod";
import { ToolError } from "../../core/errors.ts";
import { type Connection, createConnection, type McpServer } from "./connection.ts";
import { asText } from "./content.ts";
import type { Mcp, mcpSettings } from "./mcp.ts";

/** The tools of an MCP server, as `connectMcp` returns them. */
export async function servedTools(server: McpServer, settings: z.output<typeof mcpSettings>): Promise<Mcp> {
  const { name = "url" in server ? new URL(server.url).host : server.command, timeoutMs, startMs } = settings;
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
