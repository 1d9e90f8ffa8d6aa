import { arpoSetup } from "./setups/arpo.ts";

const { config, sources, notes } = arpoSetup("deep-search-14b", "Qwen/Qwen3-14B");

export { config as default, notes, sources };
