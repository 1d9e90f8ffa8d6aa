import { fileURLToPath } from "node:url";
import { Agent, MCPServerStdio, run } from "@openai/agents";

const args = [fileURLToPath(new URL("./calendar-server.mjs", import.meta.url))];
const server = new MCPServerStdio({ name: "calendar", command: process.execPath, args });
const agent = new Agent({ name: "Calendar", mcpServers: [server] });
const connected = server.connect();

export default async (prompt: string) => {
  await connected;
  return (await run(agent, prompt)).finalOutput;
};
