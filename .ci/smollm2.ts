import { fetchPublished, smollm2 } from "../src/hub/published.ts";

console.log(await fetchPublished(smollm2));
