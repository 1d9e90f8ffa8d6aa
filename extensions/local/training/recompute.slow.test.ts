import { test } from "vitest";
import { casesOf, expectLayersToBeTheWhole } from "./recompute.fixture.ts";

test.each(casesOf("qwen2", "llama", "gemma3_text", "mistral-window", "smollm3", "lfm2"))(
  "$model, $head, layers with an adapter $lora: layer by layer it computes what the whole graph does",
  expectLayersToBeTheWhole,
);
