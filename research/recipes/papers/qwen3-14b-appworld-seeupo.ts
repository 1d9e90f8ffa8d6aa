import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("appworld", "Qwen/Qwen3-14B", "seeupo");

export { config as default, notes, sources };
