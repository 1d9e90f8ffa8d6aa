import { defaults } from "../extensions/defaults.ts";
import { officeEnvironment } from "../extensions/office/office.ts";
import { officeSettingsSchema } from "../extensions/office/settings.ts";
import { addEnvironments } from "../src/environments/registry.ts";
import { addDefaults } from "../src/training/config/defaults.ts";

// Tests of the core play in the default environment, which an extension brings.
addDefaults(defaults);
addEnvironments({ office: { create: officeEnvironment, settings: officeSettingsSchema } });
