import "./engines.ts";
import { useExtensions } from "../src/extension.ts";
import { extensions } from "./extensions.ts";

useExtensions(extensions);
