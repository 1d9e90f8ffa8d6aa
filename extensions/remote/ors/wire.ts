import { z } from "zod";

/** Documents of ORS, the protocol of ors-sdk 0.1 and OpenReward. Source: ors/{types,server}.py. */

const blockSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
]);
export const blocksSchema = z.array(blockSchema);
export type Blocks = z.output<typeof blocksSchema>;

export const toolOutputSchema = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    output: z.object({ blocks: blocksSchema, reward: z.number().nullish(), finished: z.boolean().default(false) }),
  }),
  z.object({ ok: z.literal(false), error: z.string() }),
]);
export type ToolOutput = z.output<typeof toolOutputSchema>;

const parametersSchema = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((schema) => ({ ...schema, type: "object" as const, properties: schema?.properties ?? {} }));
export const toolsSchema = z.object({
  tools: z.array(z.object({ name: z.string().min(1), description: z.string().default(""), input_schema: parametersSchema })),
});

export const namesSchema = z.array(z.string()).min(1);
export const splitsSchema = z.array(z.object({ name: z.string() })).min(1);
export const countSchema = z.object({ num_tasks: z.int().min(0) });

/** Blocks as text: the model reads no images. */
export function blocksText(blocks: Blocks): string {
  return blocks
    .map((block) => (block.type === "text" ? block.text : `[${block.mimeType}, ${block.data.length} characters: not shown]`))
    .join("\n");
}
