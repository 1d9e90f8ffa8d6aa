import type { Trajectory } from "../../src/core/trajectory.ts";

/** All that the model wrote, calls included. */
export function writtenBy({ messages }: Trajectory): string {
  return messages
    .flatMap((message) =>
      message.role === "assistant"
        ? [
            message.reasoning ?? "",
            message.content,
            ...(message.toolCalls ?? []).map(({ name, arguments: args }) => `${name}(${JSON.stringify(args)})`),
          ]
        : [],
    )
    .filter((text) => text !== "")
    .join("\n");
}
