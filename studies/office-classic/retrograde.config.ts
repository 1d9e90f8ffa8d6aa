import { defineConfig } from "../../entries/index.ts";
import { officeClassicEnvironment } from "./office-classic.ts";

/** The classic office with its bundled model: `npx retrograde-rl train --config studies/office-classic/retrograde.config.ts`. */
export default defineConfig({ environment: officeClassicEnvironment(), model: "bundled:office-classic" });
