import "../extensions/install.ts";
import { useExtensions } from "../src/extension.ts";
import { researchExtensions } from "./extensions.ts";

useExtensions(researchExtensions);
