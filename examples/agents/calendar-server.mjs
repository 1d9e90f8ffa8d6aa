import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const calendar = [{ title: "Demo", day: "Friday", time: "14:30" }];
const server = new McpServer({ name: "calendar", version: "1.0.0" });
const tool = { description: "Finds an event by its title.", inputSchema: z.object({ title: z.string() }) };
server.registerTool("find_event", tool, ({ title }) => ({
  content: [{ type: "text", text: JSON.stringify(calendar.filter((event) => event.title === title)) }],
}));
await server.connect(new StdioServerTransport());
