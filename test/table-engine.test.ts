import { engineSuite } from "./engine-suite.ts";
import { TableEngine } from "./table-engine.ts";

engineSuite("The table of logits", async () => new TableEngine(12));
engineSuite("A table that can do nothing more", async () => new TableEngine(12, []), []);
