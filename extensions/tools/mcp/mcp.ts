import { optionsDoor } from "../../../src/core/door.ts";
import { withPackage } from "../../../src/core/optional-package.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import type { McpServer } from "./connection.ts";
import type { Mcp, McpSettings } from "./settings.ts";
import { mcpSettings } from "./settings.ts";
import type { RemoteServer, StartedServer } from "./transports.ts";

const checkStarted = optionsDoor<StartedServer>("a server that connectMcp starts", {
  command: true,
  args: true,
  env: true,
  cwd: true,
});
const checkRemote = optionsDoor<RemoteServer>("a server that connectMcp reaches", { url: true, headers: true });

/**
 * The tools of an MCP server (modelcontextprotocol.io). A server that dies is started or connected again by the next call; the call
 * that it died in fails with a message for the model, because it may have had its effect.
 * @throws ToolError where the server does not start or has no tools, ConfigError where a setting is wrong or `@modelcontextprotocol/client` is not installed
 * @example
 * const { tools, close } = await connectMcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] });
 * await close();
 */
export async function connectMcp(server: McpServer, settings: McpSettings = {}): Promise<Mcp> {
  ("url" in server ? checkRemote : checkStarted)({ ...server });
  const parsed = parseSettings(mcpSettings, settings, "mcp");
  const load = () => import("./served-tools.ts");
  const { servedTools } = await withPackage("@modelcontextprotocol/client", "tools of MCP servers", load);
  return servedTools(server, parsed);
}
