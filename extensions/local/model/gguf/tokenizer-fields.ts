import { z } from "zod";
import { ModelError } from "../../../../src/core/errors.ts";
import type { ModelConfig } from "../model-config.ts";
import type { Model } from "../model-folder.ts";
import { preTokenizerName, tokenKinds } from "./tokenizer.ts";

/** The metadata of a byte-level tokenizer. */
export interface TokenizerFields {
  readonly pre: string;
  readonly tokens: readonly string[];
  readonly types: readonly number[];
  readonly merges: readonly string[];
  /** Ids by llama.cpp's names: bos, eos, eot, padding. */
  readonly ids: Readonly<Record<string, number>>;
  /** By name: "default", and "tool_use" for conversations with tools. */
  readonly chatTemplates: ReadonlyMap<string, string>;
}

const tokenizerSchema = z.looseObject({
  normalizer: z.unknown().optional(),
  pre_tokenizer: z.unknown(),
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string(), special: z.boolean().default(false) })).default([]),
  model: z.looseObject({
    type: z.literal("BPE"),
    vocab: z.record(z.string(), z.int()),
    merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
    byte_fallback: z.boolean().optional(),
    ignore_merges: z.boolean().default(false),
  }),
});
const namedToken = z.union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)]).nullish();
const configSchema = z.looseObject({
  ...{ bos_token: namedToken, eos_token: namedToken, pad_token: namedToken },
  chat_template: z
    .union([
      z.string().transform((template) => [{ name: "default", template }]),
      z.array(z.object({ name: z.string(), template: z.string() })),
    ])
    .nullish(),
});

/**
 * The metadata of a model's tokenizer.
 * @throws ModelError if it is not byte-level BPE, or cuts texts in a way that llama.cpp has no name for
 */
export function tokenizerFields(companions: Model["companions"], config: ModelConfig): TokenizerFields {
  const read = <T>(name: string, schema: z.ZodType<T>): T => {
    const bytes = companions.get(name);
    const result = schema.safeParse(bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString("utf8")));
    if (result.success) return result.data;
    throw new ModelError(`${name} as GGUF`, bytes === undefined ? undefined : "of another kind", {
      expected: "byte-level BPE",
      hint: z.prettifyError(result.error),
    });
  };
  const { model, added_tokens: added, pre_tokenizer: cuts } = read("tokenizer.json", tokenizerSchema);
  const named = companions.has("tokenizer_config.json") ? read("tokenizer_config.json", configSchema) : {};
  const pre = preTokenizerName(cuts, model.ignore_merges);
  if (pre === undefined || model.byte_fallback)
    throw new ModelError("pre_tokenizer of tokenizer.json as GGUF", pre ?? "its own", {
      expected: "one that llama.cpp has a name for",
      hint:
        "The bundled models cut texts in a way of their own, so llama.cpp would read other ids. Export with --to hf (transformers, vLLM) or " +
        "--to onnx (transformers.js), serve the run with `retrograde-rl serve --inference`, or train a published model.",
    });
  const texts = new Map(Object.entries(model.vocab).map(([text, id]) => [id, text]));
  for (const { id, content } of added) texts.set(id, content);
  const kinds = new Map(added.map(({ id, special }) => [id, special ? tokenKinds.control : tokenKinds.user]));
  const all = Array.from({ length: config.vocabSize }, (_, id) => texts.get(id));
  // No name is no id: an id that nothing has is undefined, too.
  const idOf = (text: string | null | undefined) => (text ? all.indexOf(text) : -1);
  const [eos, ...others] = config.eosTokenIds;
  const ids = {
    bos: idOf(named.bos_token),
    eos: eos ?? idOf(named.eos_token),
    eot: others[0],
    padding: idOf(named.pad_token),
  };
  const files = { default: "chat_template.jinja", tool_use: "additional_chat_templates/tool_use.jinja" };
  const templates = Object.entries(files).flatMap(([name, file]) => {
    const inFile = companions.get(file);
    const template = inFile
      ? Buffer.from(inFile).toString("utf8")
      : named.chat_template?.find((each) => each.name === name)?.template;
    return template === undefined ? [] : [[name, template] as const];
  });
  return {
    pre,
    tokens: all.map((text, id) => text ?? `[PAD${id}]`),
    types: all.map((text, id) => (text === undefined ? tokenKinds.unused : (kinds.get(id) ?? tokenKinds.normal))),
    merges: model.merges.map((merge) => (typeof merge === "string" ? merge : merge.join(" "))),
    ids: Object.fromEntries(
      Object.entries(ids).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] >= 0),
    ),
    chatTemplates: new Map(templates),
  };
}
