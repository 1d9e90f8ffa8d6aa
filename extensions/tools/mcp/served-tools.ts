import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type Tool as ServedTool } from "@modelcontextprotocol/client";
import type { z } from "zod";
import { DeadlineError, withinTime } from "../../../src/core/deadline.ts";
import { ToolError } from "../../../src/core/errors.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { startGroup } from "../../processes/group.ts";
import { Connection, type McpServer } from "./connection.ts";
import { asText } from "./content.ts";
import type { Mcp, mcpSettings } from "./settings.ts";

export async function servedTools(
  server: McpServer,
  settings: z.output<typeof mcpSettings>,
  startProgram = startGroup,
): Promise<Mcp> {
  const { name = "url" in server ? new URL(server.url).host : server.command, timeoutMs, startMs } = settings;
  const connection = new Connection(name, server, startMs, startProgram);
  try {
    const client = await connection.client();
    // All pages of the list.
    const list = (signal: AbortSignal) => client.listTools(undefined, { timeout: longestTimer, signal });
    const tools = (await withinTime(list, startMs)).tools.filter(isCallable);
    if (tools.length === 0) throw new ToolError(`MCP server ${name}`, "without tools", { expected: "tools that can be called" });
    const instructions = client.getInstructions();
    return {
      ...(instructions === undefined ? {} : { instructions }),
      tools: tools.map(({ name: tool, description = "", inputSchema, annotations }) => ({
        name: tool,
        description,
        parameters: inputSchema,
        timeoutMs: Math.min(timeoutMs + startMs, longestTimer),
        idempotent: annotations?.idempotentHint === true || annotations?.readOnlyHint === true,
        execute: (args, { signal }) => call({ server: name, tool, args, timeoutMs, signal }, connection),
      })),
      close: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw error instanceof ToolError ? error : connection.notThere("a list of tools", error);
  }
}

/** Tools that run as tasks only would refuse every call: their results are asked for later, by a part of the protocol that is not here. */
function isCallable({ execution }: ServedTool): boolean {
  return execution?.taskSupport !== "required";
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

/** @throws Error with the text of a result that is an error, and of what goes wrong */
async function call(request: Call, connection: Connection): Promise<string> {
  const result = await resultOf(request, connection);
  const text = asText(result);
  if (result.isError === true) throw new Error(text === "" ? `${request.tool} failed, and gave no reason` : text);
  return text;
}

async function resultOf(request: Call, connection: Connection, again = false) {
  const { server, tool, args, timeoutMs, signal } = request;
  const client = await connection.client();
  try {
    // Not callTool(), which holds structured content against the tool's `outputSchema` until the server is started again: the model reads what was said.
    const params = { name: tool, arguments: args };
    return await client.request({ method: "tools/call", params }, { signal, timeout: timeoutMs });
  } catch (error) {
    signal.throwIfAborted();
    // The server understood, and refuses.
    if (error instanceof ProtocolError) throw new Error(connection.explain(error));
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
      await connection.dropIfSilent(client);
      throw new DeadlineError(timeoutMs);
    }
    if (error instanceof SdkError && nonsense.includes(error.code)) {
      throw new Error(`the MCP server ${server} answered with something else than a result: ${connection.explain(error)}`);
    }
    await connection.drop(client);
    // A server that was restarted does not know the session, and has done nothing: the call is made in a new one.
    if (error instanceof SdkHttpError && error.status === 404 && !again) return resultOf(request, connection, true);
    throw new Error(`the MCP server ${server} ended during the call, or cannot be reached: ${connection.explain(error)}`);
  }
}
