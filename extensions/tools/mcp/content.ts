import type { CallToolResult } from "@modelcontextprotocol/client";

/** Returns what the model reads of a result: its text; other content by its name. */
export function asText({ content, structuredContent }: CallToolResult): string {
  if (content.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return content.map(partAsText).join("\n");
}

function partAsText(part: CallToolResult["content"][number]): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
    case "audio":
      return `[${part.type} ${part.mimeType}, ${bytesOf(part.data)} bytes: not shown]`;
    case "resource_link":
      return `[link to ${part.name}: ${part.uri}]`;
    case "resource":
      return "text" in part.resource
        ? part.resource.text
        : `[resource ${part.resource.uri}, ${bytesOf(part.resource.blob)} bytes: not shown]`;
  }
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}
