import { capabilities } from "../src/core/policy.ts";
import { engineSuite } from "./engine-suite.ts";
import { TableEngine } from "./table-engine.ts";

engineSuite("The table of logits", async () => new TableEngine(12));
engineSuite("A table that can do nothing more", async () => new TableEngine(12, []), []);
for (const missing of capabilities) {
  const has = capabilities.filter((capability) => capability !== missing);
  engineSuite(`A table without "${missing}"`, async () => new TableEngine(12, has), has);
}
