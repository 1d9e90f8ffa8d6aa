/** A process that downloads a model, to be run beside others or killed: `hub-process.ts OWNER/NAME`, the rest by environment. */
import { fetchModel } from "../src/hub/model.ts";
import { parseHubName } from "../src/hub/name.ts";

const name = parseHubName(process.argv[2]);
if (name === undefined) throw new Error("no name");
console.log(await fetchModel(name, { onEvent: ({ type }) => type === "waiting" && console.log(type) }));
