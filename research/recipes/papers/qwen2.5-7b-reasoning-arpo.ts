import { arpoSetup } from "./setups/arpo.ts";

const { config, sources, notes } = arpoSetup("reasoning", "Qwen/Qwen2.5-7B-Instruct");

export { config as default, notes, sources };
