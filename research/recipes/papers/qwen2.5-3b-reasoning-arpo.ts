import { arpoSetup } from "./setups/arpo.ts";

const { config, sources, notes } = arpoSetup("reasoning", "Qwen/Qwen2.5-3B-Instruct", false);

export { config as default, notes, sources };
