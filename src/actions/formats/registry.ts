import { deepseek, deepseekV3 } from "./deepseek.ts";
import type { CallFormat } from "./format.ts";
import { functionGemma, gemma4 } from "./gemma.ts";
import { gptOss } from "./gpt-oss.ts";
import { hermes, smollm2 } from "./hermes.ts";
import { lfm2 } from "./lfm2.ts";
import { llama3 } from "./llama3.ts";
import { mistral, mistralArgs } from "./mistral.ts";
import { glm, qwen3Coder } from "./xml.ts";

/** Every call format. The first whose marks fit a rendered call, and that reads it, is a template's. */
export const callFormats: readonly CallFormat[] = [
  qwen3Coder,
  glm,
  hermes,
  smollm2,
  mistral,
  mistralArgs,
  lfm2,
  gptOss,
  deepseekV3,
  deepseek,
  functionGemma,
  gemma4,
  llama3,
];

export const callFormatNames = callFormats.map(({ name }) => name);

/** The format of this name; undefined if there is none. */
export function callFormat(name: string): CallFormat | undefined {
  return callFormats.find((format) => format.name === name);
}
