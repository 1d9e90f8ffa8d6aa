import { engineSuite } from "./engine-suite.ts";
import { TableEngine } from "./table-engine.ts";

engineSuite("The table of logits", async () => new TableEngine(12));
