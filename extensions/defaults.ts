import type { Defaults } from "../src/training/config/defaults.ts";
import { officeDefaults } from "./office/defaults.ts";

/** The defaults that the extensions of this package bring. They stand alone, so that the help has them without the extensions. */
export const defaults: Defaults = { environment: "office", settings: { office: officeDefaults } };
