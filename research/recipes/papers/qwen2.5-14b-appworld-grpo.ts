import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("appworld", "Qwen/Qwen2.5-14B-Instruct", "grpo");

export { config as default, notes, sources };
