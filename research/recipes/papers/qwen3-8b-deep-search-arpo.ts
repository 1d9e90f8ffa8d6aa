import { arpoSetup } from "./setups/arpo.ts";

const { config, sources, notes } = arpoSetup("deep-search-8b", "Qwen/Qwen3-8B");

export { config as default, notes, sources };
